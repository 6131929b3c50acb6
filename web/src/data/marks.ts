// What happened when: goals, falls, whistles, changes of the game's state and warnings, gathered from topics as they pass.
import { signal } from "@preact/signals";
import { onFrame, players, robots } from "./clock";
import type { LogRobot } from "./mcap";
import type { Robot, Topic } from "./robot";
import { constantName } from "./schema";

export interface Mark {
  time: number;
  kind: "goal" | "fall" | "whistle" | "state" | "warning";
  text: string;
  robot: string;
}
export const marks = signal<Mark[]>([]);
const MOST = 2000;

const seen = new Map<Topic, { until: number; last?: any; release: () => void }>();
const fresh: Mark[] = [];

// The same event told by several robots within a second is one mark.
function add(mark: Mark) {
  const twin = (m: Mark) => m.kind === mark.kind && m.text === mark.text && Math.abs(m.time - mark.time) < 1.5;
  if (!marks.peek().slice(-60).some(twin) && !fresh.some(twin)) fresh.push(mark);
}

const FALLS = new Set([1]); // FALLING
const watchers: Record<string, (robot: Robot, topic: Topic, time: number, value: any, last: any) => void> = {
  "/match_state": (robot, topic, time, m, last) => {
    if (!last) return;
    if (m.own_score > last.own_score || m.rival_score > last.rival_score) {
      const own = m.own_score > last.own_score;
      const scorer = robot.team === undefined ? (own ? `team ${m.own_team}` : `team ${m.rival_team}`) : (robot.team === 0) === own ? "red" : "blue";
      add({ time, kind: "goal", text: `goal for ${scorer}`, robot: robot.name });
    }
    if (m.state !== last.state) add({ time, kind: "state", text: (constantName(topic.schema.root, "state", m.state) ?? "").toLowerCase(), robot: "" });
  },
  "/hcm_state": (robot, _topic, time, m, last) => {
    if (last && m.state !== last.state && FALLS.has(m.state)) add({ time, kind: "fall", text: `${robot.name} falls`, robot: robot.name });
  },
  "/whistle": (robot, _topic, time) => add({ time, kind: "whistle", text: "whistle", robot: robot.name }),
  "/rosout": (robot, _topic, time, m) => {
    if (m.level >= 30) add({ time, kind: "warning", text: `${robot.name} ${m.name}: ${m.msg}`, robot: robot.name });
  },
};

function read(topic: Topic, state: { until: number; last?: any }, end: number) {
  topic.each(state.until, end, (time, value) => {
    watchers[topic.name](topic.robot, topic, time, value, state.last);
    state.last = value;
  });
  state.until = end;
}
function publish() {
  if (fresh.length) marks.value = [...marks.peek(), ...fresh.splice(0)].sort((a, b) => a.time - b.time).slice(-MOST);
}
function look() {
  for (const robot of robots.peek())
    for (const name of Object.keys(watchers)) {
      const topic = robot.topics.peek().get(name);
      if (topic && !seen.has(topic) && robot.connection.peek() !== "log") seen.set(topic, { until: -Infinity, release: topic.hold() });
    }
  for (const [topic, state] of seen) {
    const end = topic.stats().newest;
    if (Number.isNaN(end)) continue;
    if (end < state.until - 1) {
      // time began again
      marks.value = [];
      state.until = -Infinity;
      state.last = undefined;
    }
    if (end > state.until) read(topic, state, end);
  }
  publish();
}
export function clearMarks() {
  for (const { release } of seen.values()) release();
  seen.clear();
  marks.value = [];
}
const WALK = 200 << 20; // bytes; longer logs are not read whole only for marks
export async function markLogs(logs: LogRobot[]) {
  for (const log of logs) {
    if (log.size > WALK) continue;
    const states = new Map<Topic, { until: number; last?: any }>();
    let told = 0;
    await log.walk((until) => {
      for (const name of Object.keys(watchers)) {
        const topic = log.topics.peek().get(name);
        if (!topic) continue;
        let state = states.get(topic);
        if (!state) states.set(topic, (state = { until: -Infinity }));
        read(topic, state, until);
      }
      if (performance.now() - told > 500) publish();
      told = performance.now();
    });
    publish();
  }
}
let looked = 0;
onFrame(() => {
  const at = performance.now();
  if (at - looked < 200) return;
  looked = at;
  look();
});
// s, from the first thing that the page knows to the newest
export function span(): [number, number] {
  let from = Infinity;
  let to = -Infinity;
  for (const robot of players.peek()) {
    const [a, b] = robot.span;
    if (a < from) from = a;
    if (b > to) to = b;
  }
  if (!(from <= to)) return [0, 1];
  return [from, Math.max(to, from + 1)];
}
