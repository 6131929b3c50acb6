// The hardware control manager: its states as a graph, the transitions of the last minutes, and who moves what.
import { useEffect, useState } from "preact/hooks";
import { cursor } from "../data/clock";
import { News, type Robot } from "../data/robot";
import { constantName, wordOf } from "../data/schema";
import { useMessage } from "../ui/hooks";
import { type PanelContext, panel } from "../ui/panel";
import { timeText } from "../ui/timeline";

interface Step {
  time: number;
  from: number;
  to: number;
  reason: string;
}
const PARTS = ["head", "left_arm", "right_arm", "left_leg", "right_leg"];
const words = (text: string | undefined) => (text ?? "").toLowerCase().replaceAll("_", " ");

function Manager({ ctx }: { ctx: PanelContext }) {
  return ctx.robot ? <States key={ctx.robot.key} robot={ctx.robot} ctx={ctx} /> : <div class="empty">no robot yet</div>;
}
function States({ robot, ctx }: { robot: Robot; ctx: PanelContext }) {
  const now = useMessage(robot, "/hcm_state")?.value;
  const [steps, set] = useState<Step[]>([]);
  useEffect(() => {
    const news = new News();
    let last = -1;
    let all: Step[] = [];
    return ctx.onFrame((shown) => {
      const topic = ctx.topic(robot, "/hcm_state");
      const forget = () => ((last = -1), (all = []));
      if (topic)
        news.read(topic, forget, (time, m) => {
          if (last >= 0 && m.state !== last) all.push({ time, from: last, to: m.state, reason: m.reason });
          last = m.state;
        });
      set(all.filter((s) => s.time <= shown).slice(-200));
    });
  }, [robot]);
  const topic = robot.topics.value.get("/hcm_state");
  if (!now || !topic) return <div class="empty">{topic ? "nothing yet" : `${robot.name} has no hardware control manager`}</div>;
  const name = (state: number) => words(constantName(topic.schema.root, "state", state));
  const known = [...Array(15).keys()].filter((i) => name(i));
  const at = (i: number) => {
    const k = known.indexOf(i);
    return { x: 122 * ((k % 5) - 2), y: 78 * (Math.floor(k / 5) - 1) };
  };
  const counts = new Map<string, number>();
  for (const s of steps) counts.set(`${s.from} ${s.to}`, (counts.get(`${s.from} ${s.to}`) ?? 0) + 1);
  return (
    <div class="column">
      <svg class="nodes states" viewBox="-305 -110 610 230" data-test="hcm">
        {[...counts].map(([key, n]) => {
          const [a, b] = key.split(" ").map((i) => at(Number(i)));
          return (
            <path class="edge on" d={`M${a.x},${a.y} Q${(a.x + b.x) / 2 + (b.y - a.y) / 4},${(a.y + b.y) / 2 - (b.x - a.x) / 4} ${b.x},${b.y}`}>
              <title>{`${key.split(" ").map((i) => name(Number(i))).join(" → ")}: ${n} times`}</title>
            </path>
          );
        })}
        {known.map((i) => (
          <g class={`node ${i === now.state ? "on" : ""}`} data-state={name(i)}>
            <rect x={at(i).x - 57} y={at(i).y - 11} width={114} height={22} rx={11} />
            <text x={at(i).x} y={at(i).y + 4} text-anchor="middle">
              {name(i)}
            </text>
          </g>
        ))}
        <text class="label" y={-36} text-anchor="middle">
          {now.reason}
        </text>
        {now.refused && (
          <text class="label" y={42} text-anchor="middle">
            refused: {now.refused}
          </text>
        )}
      </svg>
      <div class="bar">
        {PARTS.map((part) => (
          <span class="chip" title={`who moves the ${words(part)}`}>
            {words(part)}: <b>{wordOf(topic.schema.root, "OWNER_", now[`${part}_owner`])}</b>
          </span>
        ))}
        {!now.motors_on && <span class="chip warn">motors off</span>}
      </div>
      <div class="scrolls fill loglines">
        {[...steps].reverse().map((s) => (
          <div class="logline two" onClick={() => (cursor.value = s.time)}>
            <time>{timeText(s.time)}</time>
            <span>
              {name(s.from)} → <b>{name(s.to)}</b> <span class="faint">{s.reason}</span>
            </span>
          </div>
        ))}
        {!steps.length && <div class="empty">no transition yet</div>}
      </div>
    </div>
  );
}
panel({ id: "hcm", title: "Control manager", about: "states of the hardware control manager, transitions, who moves what", group: "robot", view: Manager });
