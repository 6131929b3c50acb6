// Cycles with their deadlines and modules, and how late each hop from a sensor to the joint goals is.
import { useEffect, useState } from "preact/hooks";
import type { Graph, Robot } from "../data/robot";
import type { Message } from "../data/schema";
import { useMessage } from "../ui/hooks";
import { type PanelContext, panel } from "../ui/panel";

const us = (s: number) => (s < 1e-3 ? `${(s * 1e6).toFixed(0)} µs` : `${(s * 1e3).toFixed(2)} ms`);

// The newest report of every cycle: each comes in a message of its own.
function useCycles(ctx: PanelContext, robot: Robot): Message[] {
  const [list, set] = useState<Message[]>([]);
  useEffect(() => {
    let drawn = 0;
    return ctx.onFrame((now) => {
      const at = performance.now();
      if (at - drawn < 500) return;
      drawn = at;
      const found = new Map<string, Message>();
      ctx.topic(robot, "/nutmeg/cycles")?.each(now - 15, now, (_, m) => found.set(m.cycle, m));
      set([...found.values()]);
    });
  }, [robot]);
  return list;
}

// The shortest way from a topic to another one through the modules.
export function wayBetween(graph: Graph, from: string, to: string): string[] {
  const makes = new Map<string, string[]>();
  for (const t of graph.published) for (const by of t.by) makes.set(by, [...(makes.get(by) ?? []), t.name]);
  const readers = new Map(graph.subscribed.map((t) => [t.name, t.by]));
  const before = new Map<string, string>([[from, ""]]);
  const queue = [from];
  for (let topic = queue.shift(); topic && topic !== to; topic = queue.shift())
    for (const reader of readers.get(topic) ?? [])
      for (const next of makes.get(reader) ?? [])
        if (!before.has(next)) {
          before.set(next, topic);
          queue.push(next);
        }
  const way: string[] = [];
  if (before.has(to)) for (let at = to; at; at = before.get(at)!) way.unshift(at);
  return way;
}

function Hops({ robot }: { robot: Robot }) {
  const report = useMessage(robot, "/nutmeg/topics")?.value;
  const graph = robot.graph.value;
  if (!report || !graph) return null;
  const delay = new Map<string, number>(report.topic.map((name: string, i: number) => [`/${name}`, report.delay[i]]));
  const ways = ["/servo_states", "/imu/data_raw", "/camera/image_raw", "/percepts"]
    .map((from) => wayBetween(graph, from, robot.topics.value.has("/servo_goals") ? "/servo_goals" : "/walk_command"))
    .filter((way) => way.length > 1);
  return (
    <>
      {ways.map((way) => (
        <p class="hops" data-test="hops">
          {way.map((topic, i) => (
            <span>
              {i > 0 && <span class="faint"> → </span>}
              <b>{topic.slice(1)}</b> <span class="numbers soft">{us(Math.max(0, delay.get(topic) ?? 0))}</span>
            </span>
          ))}
        </p>
      ))}
      {ways.length > 0 && <p class="faint note">Behind each topic: the time from the stamp in its newest message to its publication.</p>}
    </>
  );
}

function Cycles({ ctx }: { ctx: PanelContext }) {
  return ctx.robot ? <Table key={ctx.robot.key} robot={ctx.robot} ctx={ctx} /> : <div class="empty">no robot yet</div>;
}
function Table({ robot, ctx }: { robot: Robot; ctx: PanelContext }) {
  const cycles = useCycles(ctx, robot);
  if (!cycles.length) return <div class="empty">{robot.topics.value.has("/nutmeg/cycles") ? "the first report comes within a second" : `${robot.name} tells nothing about its cycles`}</div>;
  return (
    <div class="scrolls fill">
      <table data-test="cycles">
        <tr>
          {["cycle", "period", "mean", "p99", "max", "late p99", "missed", "skipped"].map((c, i) => (
            <th class={i ? "number" : ""}>{c}</th>
          ))}
        </tr>
        {cycles.flatMap((c) => [
          <tr data-cycle={c.cycle}>
            <td>
              <b>{c.cycle}</b>
            </td>
            <td class="number">{c.period ? `${(c.period * 1000).toFixed(0)} ms` : "trigger"}</td>
            <td class="number">{us(c.mean)}</td>
            <td class="number">{us(c.p99)}</td>
            <td class={`number ${c.period && c.max > c.period ? "bad" : ""}`}>{us(c.max)}</td>
            <td class="number">{us(c.late_p99)}</td>
            <td class={`number ${Number(c.misses) ? "warn" : ""}`}>{String(c.misses)}</td>
            <td class={`number ${Number(c.skipped) ? "warn" : ""}`}>{String(c.skipped)}</td>
          </tr>,
          ...c.modules.map((m: Message) => (
            <tr class="soft">
              <td style={{ paddingLeft: "20px" }}>{m.instance}</td>
              <td class="number">
                <span class="share" style={{ width: `${c.mean > 0 ? Math.min(60, (60 * m.mean) / c.mean) : 0}px` }} />
              </td>
              <td class="number">{us(m.mean)}</td>
              <td class="number">{us(m.p99)}</td>
              <td class="number">{us(m.max)}</td>
              <td colSpan={3} />
            </tr>
          )),
        ])}
      </table>
      <Hops robot={robot} />
    </div>
  );
}
panel({ id: "cycles", title: "Cycles", about: "deadlines and times of cycles and modules, and the delay of each hop", group: "system", view: Cycles });
