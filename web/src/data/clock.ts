// The time that all panels show: that of the newest message, or a moment that somebody chose on the time line.
import { computed, signal } from "@preact/signals";
import type { Robot } from "./robot";

export const robots = signal<Robot[]>([]);
export const players = computed(() => robots.value.filter((r) => r.isPlayer.value));
export const world = computed(() => robots.value.find((r) => !r.isPlayer.value && r.name === "world"));

export const cursor = signal<number | undefined>(undefined); // s; undefined: live
export const paused = computed(() => cursor.value !== undefined);
export const playing = signal(0); // speed of a log, or of a live page that was scrolled back; 0: it stands

// s, the newest time of all robots
export function newest(): number {
  let now = NaN;
  for (const robot of robots.peek()) if (!(robot.now < now)) now = Number.isNaN(robot.now) ? now : robot.now;
  return now;
}
// s, the time to show
export const shown = (): number => cursor.peek() ?? newest();

// ---- drawing: everything that is on the screen draws at most once a frame, and only if something has changed ----

type Draw = (now: number) => void;
const drawings = new Set<Draw>();
let asked = false;
let last = 0;
export const frames = signal(0); // counts drawn frames
let least = 28; // ms between two frames: about 30 a second are enough, and leave time for the robot on the same machine
export const slowDown = () => void (least = 45);

export function changed() {
  if (asked) return;
  asked = true;
  requestAnimationFrame(frame);
}
function frame(at: number) {
  if (at - last < least) {
    requestAnimationFrame(frame);
    return;
  }
  const step = Math.min((at - last) / 1000, 0.5);
  last = at;
  asked = false;
  if (playing.peek() && cursor.peek() !== undefined) {
    const next = cursor.peek()! + step * playing.peek();
    const end = newest();
    if (next >= end && robots.peek().some((r) => r.connection.peek() !== "log")) cursor.value = undefined;
    else cursor.value = Math.min(next, end);
    if (cursor.peek() === end) playing.value = 0;
    changed();
  }
  const now = shown();
  for (const draw of drawings) {
    try {
      draw(now);
    } catch (error) {
      console.error(error);
    }
  }
  frames.value++;
}
// Ends when all robots have told something and it was drawn: what is large or slow waits for it, but not for ever.
export async function firstPicture() {
  const began = performance.now();
  const rest = (ms: number) => new Promise((done) => setTimeout(done, ms));
  while (performance.now() - began < 3000 && !(players.peek().length && players.peek().every((r) => !Number.isNaN(r.now)))) await rest(50);
  await rest(150);
}
export function onFrame(draw: Draw): () => void {
  drawings.add(draw);
  changed();
  return () => void drawings.delete(draw);
}
cursor.subscribe(() => changed());
playing.subscribe(() => changed());
robots.subscribe(() => changed());
setInterval(changed, 500); // ages grow even when nothing arrives
