// The line of time at the bottom: the last minutes, with marks where something happened. It scrubs every panel.
import { useEffect, useRef } from "preact/hooks";
import { cursor, newest, onFrame, paused, playing, robots } from "../data/clock";
import { HORIZON } from "../data/history";
import { type Mark, marks, span } from "../data/marks";
import { colour as canvasColour } from "./canvas";
import { useNow } from "./hooks";
import * as Icon from "./icons";

const TINTS: Record<Mark["kind"], string> = { goal: "accent", fall: "bad", whistle: "text", state: "soft", warning: "warn" };

export function pause() {
  const now = newest();
  if (cursor.value === undefined) cursor.value = Number.isNaN(now) ? undefined : now;
  else if (playing.value) playing.value = 0;
  else if (robots.value.every((r) => r.connection.value === "log")) playing.value = 1;
  else {
    cursor.value = undefined;
    playing.value = 0;
  }
}
export function goLive() {
  playing.value = 0;
  cursor.value = undefined;
}
export function stepBy(seconds: number) {
  const now = cursor.value ?? newest();
  if (!Number.isNaN(now)) cursor.value = Math.min(now + seconds, newest());
}
// The mark before or after the time that is shown.
export function jump(way: 1 | -1) {
  const now = cursor.value ?? newest();
  const found = marks.value.filter((m) => m.kind !== "state" && (way > 0 ? m.time > now + 0.05 : m.time < now - 0.05)).sort((a, b) => way * (a.time - b.time))[0];
  if (found) cursor.value = found.time;
}

export const timeText = (s: number) => {
  if (Number.isNaN(s)) return "–";
  if (s > 1e8) return new Date(s * 1000).toLocaleTimeString([], { hour12: false }) + `.${Math.floor((s * 10) % 10)}`;
  return `${Math.floor(s / 60)}:${(s % 60).toFixed(1).padStart(4, "0")}`;
};

export function Timeline() {
  const canvas = useRef<HTMLCanvasElement>(null);
  const track = useRef<HTMLDivElement>(null);
  const now = useNow(120);
  const isLog = robots.value.length > 0 && robots.value.every((r) => r.connection.value === "log");
  const late = robots.value.some((r) => r.connection.value === "lost");
  const range = (): [number, number] => {
    const [from, to] = span();
    return isLog ? [from, to] : [Math.max(from, to - HORIZON), to];
  };
  useEffect(
    () =>
      onFrame((time) => {
        const c = canvas.current!;
        const { width, height } = c.getBoundingClientRect();
        const ratio = devicePixelRatio || 1;
        if (c.width !== Math.round(width * ratio)) c.width = Math.round(width * ratio);
        if (c.height !== Math.round(height * ratio)) c.height = Math.round(height * ratio);
        const pen = c.getContext("2d")!;
        pen.setTransform(ratio, 0, 0, ratio, 0, 0);
        pen.clearRect(0, 0, width, height);
        const [from, to] = range();
        const at = (t: number) => ((t - from) / Math.max(to - from, 1)) * width;
        const middle = height / 2;
        pen.fillStyle = canvasColour("raised");
        pen.fillRect(0, middle - 3, width, 6);
        if (Number.isNaN(time)) return;
        pen.fillStyle = canvasColour("line");
        pen.fillRect(0, middle - 3, at(time), 6);
        for (const m of marks.peek()) {
          if (m.time < from) continue;
          pen.fillStyle = canvasColour(TINTS[m.kind]);
          const tall = m.kind === "goal" ? 9 : m.kind === "state" ? 4 : 6;
          pen.fillRect(at(m.time) - 1, middle - tall, m.kind === "goal" ? 3 : 2, 2 * tall);
        }
        pen.fillStyle = canvasColour("accent");
        pen.beginPath();
        pen.arc(Math.min(at(time), width - 5), middle, 5, 0, 2 * Math.PI);
        pen.fill();
      }),
    [isLog],
  );
  const scrub = (e: PointerEvent) => {
    const box = track.current!.getBoundingClientRect();
    const [from, to] = range();
    const share = Math.min(Math.max((e.clientX - box.left) / box.width, 0), 1);
    playing.value = 0;
    cursor.value = share > 0.995 && !isLog ? undefined : from + share * (to - from);
  };
  const hint = (e: PointerEvent) => {
    const box = track.current!.getBoundingClientRect();
    const [from, to] = range();
    const time = from + ((e.clientX - box.left) / box.width) * (to - from);
    const near = marks.value.filter((m) => Math.abs(m.time - time) < (to - from) / 120).slice(-6);
    track.current!.title = near.map((m) => `${timeText(m.time)}  ${m.text}`).join("\n");
  };
  return (
    <footer class="timeline">
      <button class="plain" title="pause, or go on (space)" onClick={pause} data-test="pause">
        {paused.value && !playing.value ? <Icon.Play /> : <Icon.Pause />}
      </button>
      <button class="plain" title="mark before (J)" onClick={() => jump(-1)}>
        <Icon.Back />
      </button>
      <button class="plain" title="mark after (L)" onClick={() => jump(1)}>
        <Icon.Forth />
      </button>
      <div
        class="track"
        ref={track}
        data-test="track"
        onPointerDown={(e) => {
          track.current!.setPointerCapture(e.pointerId);
          scrub(e);
        }}
        onPointerMove={(e) => (e.buttons ? scrub(e) : hint(e))}
      >
        <canvas ref={canvas} />
      </div>
      <time data-test="time">{timeText(now)}</time>
      <button class={`live ${paused.value ? "" : late ? "late" : "on"}`} onClick={goLive} title="show what happens now" data-test="live">
        <i />
        {isLog ? "log" : paused.value ? (playing.value ? "behind" : "paused") : "live"}
      </button>
    </footer>
  );
}
