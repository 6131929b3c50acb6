// Values over time, by the stamps of their messages, live and scrolled back.
import { useEffect, useRef } from "preact/hooks";
import uPlot from "uplot";
import { cursor, robots } from "../data/clock";
import type { Topic } from "../data/robot";
import { Series } from "../data/series";
import { colour } from "../ui/canvas";
import { acceptPicks, download, Picker, type Pick, pickText } from "../ui/picker";
import { type PanelContext, panel } from "../ui/panel";
import { isLight } from "../ui/shell";
import { timeText } from "../ui/timeline";

export const TINTS = ["#e0ac4f", "#6aa9ff", "#5fc88f", "#ff7468", "#b692f6", "#4fd1d9", "#f783ac", "#a3b18a"];
const WINDOWS = [2, 5, 10, 20, 60, 300];

function Graph({ ctx }: { ctx: PanelContext }) {
  const picks: Pick[] = ctx.settings.value.series ?? [];
  const span: number = ctx.settings.value.span ?? 10;
  const area = useRef<HTMLDivElement>(null);
  const series = useRef(new Map<string, Series>());
  const robotOf = (p: Pick) => (p.robot ? robots.value.find((r) => r.key === p.robot) : ctx.robot);
  const key = `${picks.map(pickText).join()}|${ctx.robot?.key}|${span}|${isLight.value}`;

  useEffect(() => {
    if (!area.current || !picks.length) return;
    const lines: uPlot.Series[] = picks.map((p, i) => ({
      label: pickText(p),
      stroke: TINTS[i % TINTS.length],
      width: 1.5,
      points: { show: false },
      value: (_u, v) => (v === null || v === undefined ? "–" : Number(v.toPrecision(5)).toString()),
    }));
    const axis = { stroke: colour("faint"), grid: { stroke: colour("line"), width: 1 }, ticks: { stroke: colour("line"), width: 1, size: 4 }, font: "11px system-ui", labelFont: "11px system-ui" };
    const plot = new uPlot(
      {
        width: 100,
        height: 100,
        series: [{ value: (_u, v) => (v === null ? "" : timeText(v)) }, ...lines],
        scales: { x: { time: false } },
        axes: [{ ...axis, values: (_u, ts) => ts.map(timeText), size: 26 }, { ...axis, values: (_u, ys) => ys.map((y) => Number(y.toPrecision(6)).toString()), size: 58 }],
        legend: { show: false },
        cursor: { drag: { x: true, y: false }, sync: { key: "nutmeg" } },
      },
      [[], ...picks.map(() => [])] as unknown as uPlot.AlignedData,
      area.current,
    );
    // a click chooses the time for all panels
    plot.over.addEventListener("click", () => {
      const at = plot.posToVal(plot.cursor.left ?? 0, "x");
      if (Number.isFinite(at) && !plot.select.width) cursor.value = at;
    });
    const values = [...area.current.parentElement!.querySelectorAll<HTMLElement>("[data-value]")];
    const end = ctx.onFrame((now) => {
      if (Number.isNaN(now)) return;
      const box = area.current!.getBoundingClientRect();
      if (plot.width !== Math.floor(box.width) || plot.height !== Math.floor(box.height)) plot.setSize({ width: Math.floor(box.width), height: Math.floor(box.height) });
      const hold = new Set<Topic>();
      const to = cursor.peek() === undefined ? now : now + span * 0.2;
      const from = to - span;
      const tables: uPlot.AlignedData[] = [];
      picks.forEach((p, i) => {
        const topic = ctx.topic(robotOf(p), p.topic);
        const id = `${i}`;
        if (topic) {
          hold.add(topic);
          let s = series.current.get(id);
          if (!s || s.topic !== topic || s.path !== p.path) series.current.set(id, (s = new Series(topic, p.path)));
          s.update(from, to);
          tables.push(s.window(from, to, Math.max(box.width, 100)) as unknown as uPlot.AlignedData);
          const v = s.at(now);
          if (values[i]) values[i].textContent = Number.isFinite(v) ? Number(v.toPrecision(5)).toString() : "–";
        } else {
          tables.push([[], []]);
          if (values[i]) values[i].textContent = "not there";
        }
      });
      ctx.keepOnly(hold);
      plot.setData(uPlot.join(tables, tables.map((t) => t.slice(1).map(() => 2)) as any), false);
      plot.setScale("x", { min: from, max: to });
    });
    return () => {
      end();
      plot.destroy();
    };
  }, [key]);
  useEffect(() => acceptPicks(ctx.root, (p) => ctx.set({ series: [...(ctx.settings.peek().series ?? []), p] })), []);

  const csv = () => {
    const all = [...series.current.values()];
    const rows = ["time,value,series"];
    for (const s of all) s.times.forEach((t, i) => rows.push(`${t.toFixed(6)},${s.values[i]},${s.topic.robot.name} ${s.topic.name}.${s.path}`));
    download("graph.csv", rows.join("\n") + "\n");
  };
  return (
    <div class="column">
      <div class="bar">
        {picks.map((p, i) => (
          <button class="series" title="remove this value" onClick={() => ctx.set({ series: picks.filter((_, k) => k !== i) })} style={{ color: TINTS[i % TINTS.length] }}>
            {pickText(p)} <b class="numbers" data-value={pickText(p)} />
          </button>
        ))}
        <Picker robot={ctx.robot} onPick={(p) => ctx.set({ series: [...picks, p] })} />
        <span style={{ flex: 1 }} />
        <select value={span} onChange={(e) => ctx.set({ span: Number(e.currentTarget.value) })} aria-label="length of the time axis">
          {WINDOWS.map((w) => (
            <option value={w}>{w < 60 ? `${w} s` : `${w / 60} min`}</option>
          ))}
        </select>
        <button class="plain" onClick={csv} title="save the values as a file" disabled={!picks.length}>
          CSV
        </button>
      </div>
      {picks.length ? <div class="plot" ref={area} key={key} /> : <div class="fill empty-note">type above, or drag a value from a table onto this panel</div>}
    </div>
  );
}
panel({ id: "graph", title: "Graph", about: "values over time", group: "data", view: Graph });
