// The graph of modules: who makes what for whom, and how often. Columns go from sensors to goals.
import { useState } from "preact/hooks";
import type { Graph } from "../data/robot";
import { useMessage } from "../ui/hooks";
import { type PanelContext, panel } from "../ui/panel";

export interface Edge {
  from: string;
  to: string;
  topics: string[];
}
export function edgesOf(graph: Graph): Edge[] {
  const readers = new Map(graph.subscribed.map((t) => [t.name, t.by]));
  const makers = new Map(graph.published.map((t) => [t.name, t.by]));
  const found = new Map<string, Edge>();
  for (const name of new Set([...readers.keys(), ...makers.keys()]))
    for (const from of makers.get(name) ?? ["outside"])
      for (const to of readers.get(name) ?? []) {
        const key = `${from} ${to}`;
        if (!found.has(key)) found.set(key, { from, to, topics: [] });
        found.get(key)!.topics.push(name);
      }
  return [...found.values()].filter((e) => e.from !== e.to);
}
// How many modules are between a module and the sensors, on the shortest way.
export function ranksOf(edges: Edge[]): Map<string, number> {
  const rank = new Map<string, number>();
  let queue = ["outside"];
  for (let depth = 0; queue.length; depth++) {
    for (const n of queue) rank.set(n, depth);
    queue = [...new Set(edges.filter((e) => rank.get(e.from) === depth && !rank.has(e.to)).map((e) => e.to))];
    // who reads nothing from outside begins where the rest has ended
    const left = edges.find((e) => !rank.has(e.from));
    if (!queue.length && left) queue = [left.from];
  }
  return rank;
}

const W = 150;
const H = 30;
function Nodes({ ctx }: { ctx: PanelContext }) {
  const robot = ctx.robot;
  const report = useMessage(robot, "/nutmeg/topics", 1000)?.value;
  const [chosen, choose] = useState("");
  const graph = robot?.graph.value;
  if (!graph) return <div class="empty">{robot ? `${robot.name} tells no graph` : "no robot yet"}</div>;
  const rate = new Map<string, number>((report?.topic ?? []).map((name: string, i: number) => [`/${name}`, report!.rate[i]]));
  const edges = edgesOf(graph);
  const ranks = ranksOf(edges);
  const columns: string[][] = [];
  for (const [name, rank] of ranks) (columns[rank] ??= []).push(name);
  const filled = columns.filter(Boolean);
  const place = new Map<string, { x: number; y: number }>();
  const most = Math.max(...filled.map((c) => c.length));
  filled.forEach((names, c) => names.forEach((n, i) => place.set(n, { x: c * (W + 60), y: ((i + 0.5) * most * (H + 14)) / names.length })));
  const touches = (e: Edge) => !chosen || e.from === chosen || e.to === chosen;
  const label = (e: Edge) => e.topics.map((t) => `${t.slice(1)}${rate.has(t) ? ` ${rate.get(t)!.toFixed(0)} Hz` : ""}`).join(", ");
  return (
    <div class="scrolls fill">
      <svg class="nodes" style={{ maxWidth: `${filled.length * (W + 60)}px` }} viewBox={`-10 -10 ${filled.length * (W + 60)} ${most * (H + 14) + 20}`} data-test="nodes">
        {edges.filter(touches).map((e) => {
          const a = place.get(e.from)!;
          const b = place.get(e.to)!;
          const busy = Math.max(0, ...e.topics.map((t) => rate.get(t) ?? 0));
          return (
            <path class={`edge ${chosen ? "on" : ""} ${report && !busy ? "quiet" : ""}`} d={`M${a.x + W},${a.y} C${a.x + W + 40},${a.y} ${b.x - 40},${b.y} ${b.x},${b.y}`}>
              <title>{`${e.from} → ${e.to}: ${label(e)}`}</title>
            </path>
          );
        })}
        {chosen &&
          edges.filter(touches).map((e) => {
            const other = place.get(e.from === chosen ? e.to : e.from)!;
            return (
              <text class="label" x={other.x} y={other.y + H / 2 + 9}>
                {label(e).slice(0, 46)}
              </text>
            );
          })}
        {[...place].map(([name, p]) => (
          <g class={`node ${chosen === name ? "on" : ""}`} onClick={() => choose(chosen === name ? "" : name)} data-node={name}>
            <rect x={p.x} y={p.y - H / 2} width={W} height={H} rx={6} />
            <text x={p.x + W / 2} y={p.y + 4} text-anchor="middle">
              {name}
            </text>
          </g>
        ))}
      </svg>
    </div>
  );
}
panel({ id: "nodes", title: "Nodes", about: "which module makes what for whom, with rates; click one for its topics", group: "system", view: Nodes });
