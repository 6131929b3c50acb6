// Which robots the page shows, and which of them it follows.
import { computed, effect, signal } from "@preact/signals";
import { cursor, players, playing, robots, world } from "./clock";
import { LiveRobot } from "./live";
import { clearMarks, markLogs } from "./marks";
import { type Bytes, LogRobot, ofUrl } from "./mcap";
import type { Robot } from "./robot";

export const address = new URLSearchParams(location.search);
export const token = address.get("token") ?? "";

export const wanted = signal(new URLSearchParams(location.hash.slice(1)).get("robot") ?? "");
// The robot that panels of a single robot show. A robot that is not there yet may be followed already.
export const followed = computed<Robot | undefined>(() => players.value.find((r) => r.key === wanted.value) ?? players.value[0]);
export function follow(robot: Robot | undefined) {
  if (robot) wanted.value = robot.key;
}


// A server names the others of its world: all of them are shown.
function greeted(robot: LiveRobot) {
  const list = robot.metadata.value.peers;
  if (!list) return;
  const host = robot.address.replace(/:\d+$/, "");
  let peers: { name: string; port: number; team?: number }[] = [];
  try {
    peers = JSON.parse(list);
  } catch {
    robot.notice(2, "the list of robots cannot be read");
  }
  const order: Robot[] = [];
  for (const peer of peers) {
    const at = `${host}:${peer.port}`;
    let known = robots.value.find((r) => r instanceof LiveRobot && r.address === at);
    const moved = robots.value.find((r) => r instanceof LiveRobot && r.key === peer.name && r.connection.value !== "connected" && r.address.startsWith(`${host}:`));
    if (!known && moved) {
      (moved as LiveRobot).moveTo(at);
      known = moved;
    }
    if (!known) known = new LiveRobot(peer.name, peer.name, peer.team, at, robot.token);
    known.key = known.name = peer.name;
    known.team = peer.team;
    known.isPlayer.value = peer.team !== undefined;
    order.push(known);
  }
  robots.value = [...order, ...robots.value.filter((r) => !order.includes(r))];
}
export function connect(at: string, secret = token): LiveRobot {
  const known = robots.value.find((r) => r instanceof LiveRobot && r.address === at);
  if (known) return known as LiveRobot;
  const robot = new LiveRobot(at, "", undefined, at, secret);
  robot.greeted = greeted;
  robots.value = [...robots.value, robot];
  return robot;
}

// The server that the page came from, and others that its address names: ?robots=10.0.0.7:8765,10.0.0.8:8765
export function begin() {
  if (address.get("log") === null) connect(location.host);
  for (const other of (address.get("robots") ?? "").split(",")) if (other) connect(other);
}

// ---- logs ----

const teamOf = (name: string) => (/^red\d*$/.test(name) ? 0 : /^blue\d*$/.test(name) ? 1 : undefined);
// Shows logs in place of running robots. Logs that do not overlap are laid side by side: they begin at the same time.
export async function openLogs(list: { name: string; bytes: Bytes }[]) {
  const shorts = list.map(({ name }) => name.replace(/^.*\//, "").replace(/\.mcap$/, ""));
  const logs = await Promise.all(
    list.map(({ bytes }, i) => {
      // the second log of a robot has another name: red2b
      const before = shorts.slice(0, i).filter((s) => s === shorts[i]).length;
      const name = shorts[i] + (before ? String.fromCharCode(97 + before) : "");
      return new LogRobot(name, name, teamOf(shorts[i]), bytes).open();
    }),
  );
  if (!logs.length) return;
  logs.sort((a, b) => (a.team ?? 2) - (b.team ?? 2) || a.name.localeCompare(b.name));
  const first = logs[0].span;
  for (const log of logs) {
    const [from, to] = log.span;
    if (from > first[1] || to < first[0]) log.offset = first[0] - from;
  }
  for (const robot of robots.peek()) robot.close();
  playing.value = 0;
  clearMarks();
  robots.value = logs;
  wanted.value = logs[0].key;
  const before = cursor.peek();
  const from = Math.min(...logs.map((l) => l.span[0]));
  cursor.value = before !== undefined && before >= from && before <= logs[0].span[1] ? before : from;
  markLogs(logs);
}
// The robot's own list of logs.
export async function listLogs(): Promise<{ name: string; bytes: number; time: number }[]> {
  const answer = await fetch(`/logs?token=${encodeURIComponent(token)}`);
  if (!answer.ok) throw new Error((await answer.text()).trim());
  return (await answer.json()).logs;
}
export const logUrl = (name: string) => `/logs/${name.split("/").map(encodeURIComponent).join("/")}?token=${encodeURIComponent(token)}`;
export async function openLogNamed(names: string[]) {
  await openLogs(await Promise.all(names.map(async (name) => ({ name, bytes: await ofUrl(logUrl(name)) }))));
}

export const connected = computed(() => robots.value.filter((r) => r.connection.value === "connected").length);
export const lost = computed(() => robots.value.filter((r) => r.connection.value === "lost"));
export const isSimulation = computed(() => world.value !== undefined);

// A message of the world is in the field as team 0 sees it; a robot's map has the rival's goal at +x.
export const turned = (robot: Robot) => robot.team === 1;

effect(() => {
  document.title = followed.value ? `${followed.value.name} · Nutmeg` : "Nutmeg";
});
