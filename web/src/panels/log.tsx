// What the robots wrote on their consoles, up to the time that is shown.
import { useEffect, useRef, useState } from "preact/hooks";
import { onFrame, robots } from "../data/clock";
import { cursor } from "../data/clock";
import { News, type Robot, type Topic } from "../data/robot";
import { followed } from "../data/session";
import { type PanelContext, panel } from "../ui/panel";
import { timeText } from "../ui/timeline";

interface Line {
  time: number;
  robot: Robot;
  level: number;
  name: string;
  text: string;
}
const MOST = 2000;
const LEVELS: [number, string][] = [
  [10, "debug"],
  [20, "info"],
  [30, "warnings"],
  [40, "errors"],
];

function LogPanel({ ctx }: { ctx: PanelContext }) {
  const { level = 20, who = "all", find = "" } = ctx.settings.value;
  const [lines, set] = useState<Line[]>([]);
  const box = useRef<HTMLDivElement>(null);
  const stick = useRef(true);
  useEffect(() => {
    const read = new Map<Topic, News>();
    let all: Line[] = [];
    let shownUntil = NaN;
    let drawn = 0;
    return onFrame((now) => {
      const at = performance.now();
      if (at - drawn < 200 || !ctx.visible.peek()) return;
      drawn = at;
      let more = false;
      for (const robot of robots.peek()) {
        const topic = ctx.topic(robot, "/rosout");
        if (!topic) continue;
        let news = read.get(topic);
        if (!news) read.set(topic, (news = new News()));
        const forget = () => (all = all.filter((l) => l.robot !== robot));
        if (news.read(topic, forget, (time, v) => all.push({ time, robot, level: v.level, name: v.name, text: v.msg }))) more = true;
      }
      if (more) all = all.sort((a, b) => a.time - b.time).slice(-MOST);
      const until = cursor.peek() === undefined ? Infinity : now;
      if (!more && until === shownUntil) return;
      shownUntil = until;
      set(until === Infinity ? all.slice() : all.filter((l) => l.time <= until));
    });
  }, []);
  useEffect(() => {
    if (stick.current && box.current) box.current.scrollTop = box.current.scrollHeight;
  }, [lines, level, who, find]);
  const wanted = find.toLowerCase();
  const picked = lines.filter(
    (l) => l.level >= level && (who === "all" || l.robot === followed.value) && (!wanted || `${l.name} ${l.text}`.toLowerCase().includes(wanted)),
  );
  return (
    <div class="column">
      <div class="bar">
        <select value={level} onChange={(e) => ctx.set({ level: Number(e.currentTarget.value) })} aria-label="least level">
          {LEVELS.map(([v, name]) => (
            <option value={v}>{name}</option>
          ))}
        </select>
        <select value={who} onChange={(e) => ctx.set({ who: e.currentTarget.value })} aria-label="which robots">
          <option value="all">all robots</option>
          <option value="followed">followed robot</option>
        </select>
        <input value={find} placeholder="find" onInput={(e) => ctx.set({ find: e.currentTarget.value })} style={{ flex: 1, minWidth: "40px" }} aria-label="find" />
      </div>
      <div
        class="loglines"
        ref={box}
        data-test="log"
        onScroll={(e) => (stick.current = e.currentTarget.scrollTop + e.currentTarget.clientHeight > e.currentTarget.scrollHeight - 20)}
      >
        {picked.slice(-400).map((l) => (
          <div class={`logline ${l.level >= 40 ? "error" : l.level >= 30 ? "warning" : ""}`} onClick={() => (cursor.value = l.time)}>
            <time>{timeText(l.time)}</time>
            <span class={`who ${l.robot.team === 0 ? "red" : l.robot.team === 1 ? "blue" : ""}`}>{l.robot.name}</span>
            <span>
              <span class="from">{l.name}</span> <span class="text">{l.text}</span>
            </span>
          </div>
        ))}
        {!picked.length && <div class="empty">nothing was said yet</div>}
      </div>
    </div>
  );
}
panel({ id: "log", title: "Log", about: "what the robots wrote on their consoles", group: "match", view: LogPanel });
