// Servos: where they are, how hard they work, how hot they are, and what is wrong.
import { constantName } from "../data/schema";
import { useMessage, useNow } from "../ui/hooks";
import { type PanelContext, panel } from "../ui/panel";

const tenth = (v: number) => (Math.round(10 * v) / 10 + 0).toFixed(1); // without -0.0
const degrees = (v: number) => `${tenth((v * 180) / Math.PI)}°`;
const COLUMNS = ["joint", "position", "off goal", "load", "heat", "voltage"];
function Servos({ ctx }: { ctx: PanelContext }) {
  const robot = ctx.robot;
  const entry = useMessage(robot, "/servo_states", 200);
  const now = useNow(500);
  const by = ctx.settings.value.by ?? "joint";
  if (!robot || !entry) return <div class="empty">{robot ? `${robot.name} tells nothing about servos` : "no robot yet"}</div>;
  const s = entry.value;
  const shape = robot.topics.value.get("/servo_states")!.schema.root;
  const faults = (bits: number) =>
    [...Array(8).keys()]
      .filter((b) => bits & (1 << b))
      .map((b) => (constantName(shape, "error", 1 << b) ?? "").toLowerCase())
      .join(", ");
  const strongest = Math.max(3, ...s.effort.map(Math.abs).filter(Number.isFinite));
  const keys: ((i: number) => number)[] = [(i) => i, (i) => i, (i) => -Math.abs(s.goal[i] - s.position[i]), (i) => -Math.abs(s.effort[i]), (i) => -s.temperature[i], (i) => s.voltage[i]];
  const key = keys[COLUMNS.indexOf(by)] ?? keys[0];
  const order = [...s.name.keys()].sort((a, b) => key(a) - key(b));
  const old = now - entry.time > 1;
  return (
    <div class={`scrolls fill ${old ? "stale" : ""}`}>
      {old && <p class="age">{(now - entry.time).toFixed(0)} s old</p>}
      <table data-test="servos">
        <tr>
          {COLUMNS.map((c, i) => (
            <th class={i ? "number" : ""}>
              <button class="plain" onClick={() => ctx.set({ by: c })}>
                {c}
                {by === c ? " ▾" : ""}
              </button>
            </th>
          ))}
          <th />
        </tr>
        {order.map((i) => {
          const off = s.goal[i] - s.position[i];
          return (
            <tr class={s.torque[i] ? "" : "soft"} data-servo={s.name[i]}>
              <td>{s.name[i]}</td>
              <td class="number">{degrees(s.position[i])}</td>
              <td class={`number ${Math.abs(off) > 0.2 ? "warn" : ""}`}>{Number.isFinite(off) ? degrees(off) : ""}</td>
              <td class="number">
                <span class="share" style={{ width: `${(60 * Math.abs(s.effort[i])) / strongest}px` }} /> {tenth(s.effort[i])} N m
              </td>
              <td class={`number ${s.temperature[i] > 65 ? "bad" : s.temperature[i] > 50 ? "warn" : ""}`}>{Number.isFinite(s.temperature[i]) ? `${Math.round(s.temperature[i])} °C` : "?"}</td>
              <td class="number">{Number.isFinite(s.voltage[i]) ? `${s.voltage[i].toFixed(1)} V` : "?"}</td>
              <td class="bad">{faults(s.error[i]) || (s.torque[i] ? "" : <span class="faint">off</span>)}</td>
            </tr>
          );
        })}
      </table>
    </div>
  );
}
panel({ id: "servos", title: "Servos", about: "load, temperature, errors of every servo", group: "robot", view: Servos });
