// Topics: how often, how much, how old, how late, and what was lost.
import { useMessage } from "../ui/hooks";
import { type PanelContext, panel } from "../ui/panel";

const COLUMNS = ["topic", "Hz", "kB/s", "age", "delay", "lost", "refused"] as const;

export function ageText(s: number): string {
  if (!(s >= 0)) return "never";
  return s < 1 ? `${(1000 * s).toFixed(0)} ms` : s < 120 ? `${s.toFixed(1)} s` : `${(s / 60).toFixed(0)} min`;
}
function Topics({ ctx }: { ctx: PanelContext }) {
  const robot = ctx.robot;
  const { find = "", by = "topic" } = ctx.settings.value;
  const report = useMessage(robot, "/nutmeg/topics")?.value;
  if (!robot) return <div class="empty">no robot yet</div>;
  const rows: any[][] = report
    ? report.topic.map((name: string, i: number) => [`/${name}`, report.rate[i], report.bytes[i] / 1000, report.age[i], report.delay[i], Number(report.lost[i]), Number(report.refused[i])])
    : [...robot.topics.value.values()].map((t) => [t.name, NaN, NaN, robot.now - t.stats().newest, NaN, 0, 0]);
  const k = COLUMNS.indexOf(by);
  const shown = rows.filter((r) => r[0].includes(find)).sort((a, b) => (k ? (b[k] || 0) - (a[k] || 0) : a[0] < b[0] ? -1 : 1));
  const bandwidth = shown.reduce((sum, r) => sum + (r[2] || 0), 0);
  return (
    <div class="column">
      <div class="bar">
        <input value={find} placeholder="find" onInput={(e) => ctx.set({ find: e.currentTarget.value })} style={{ flex: 1, minWidth: "40px" }} aria-label="find" />
        <span class="faint numbers">
          {shown.length} topics, {bandwidth.toFixed(0)} kB/s; dropped for this page: {robot.drops}
        </span>
      </div>
      <div class="scrolls fill">
        <table data-test="topics">
          <tr>
            {COLUMNS.map((c, i) => (
              <th class={i ? "number" : ""}>
                <button class="plain" onClick={() => ctx.set({ by: c })}>
                  {c}
                  {by === c ? " ▾" : ""}
                </button>
              </th>
            ))}
          </tr>
          {shown.map((r) => (
            <tr class={r[3] > 1 || r[3] < 0 ? "stale" : ""} data-topic={r[0]}>
              <td>{r[0]}</td>
              <td class="number">{Number.isNaN(r[1]) ? "" : r[1].toFixed(1)}</td>
              <td class="number">{Number.isNaN(r[2]) ? "" : r[2].toFixed(1)}</td>
              <td class="number">{ageText(r[3])}</td>
              <td class="number">{r[4] > 0 ? ageText(r[4]) : ""}</td>
              <td class={`number ${r[5] ? "bad" : ""}`}>{r[5] || ""}</td>
              <td class={`number ${r[6] ? "warn" : ""}`}>{r[6] || ""}</td>
            </tr>
          ))}
        </table>
      </div>
    </div>
  );
}
panel({ id: "topics", title: "Topics", about: "rate, bandwidth, age, delay and losses of every topic", group: "system", view: Topics });
