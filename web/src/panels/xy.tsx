// One value against another: as points with a tail, or as a picture of how often each place was visited.
import { useEffect, useRef } from "preact/hooks";
import { cursor } from "../data/clock";
import type { Topic } from "../data/robot";
import { Series } from "../data/series";
import { colour, faded } from "../ui/canvas";
import { acceptPicks, Picker, type Pick, pickText } from "../ui/picker";
import { type PanelContext, panel } from "../ui/panel";

const BINS = 48;
const WINDOWS = [2, 5, 10, 20, 60, 300];

function makeXY(density: boolean) {
  return function XY({ ctx }: { ctx: PanelContext }) {
    const { x, y, span = density ? 60 : 10 } = ctx.settings.value as { x?: Pick; y?: Pick; span?: number };
    const canvas = useRef<HTMLCanvasElement>(null);
    useEffect(() => {
      if (!x || !y) return;
      let sx: Series | undefined;
      let sy: Series | undefined;
      return ctx.onFrame((now) => {
        const c = canvas.current;
        if (!c || Number.isNaN(now)) return;
        const hold = new Set<Topic>();
        const [tx, ty] = [ctx.topic(ctx.robot, x.topic), ctx.topic(ctx.robot, y.topic)];
        if (!tx || !ty) return draw(c, [], density, `${ctx.robot?.name ?? "the robot"} has no topic ${(tx ? y : x).topic}`);
        hold.add(tx).add(ty);
        ctx.keepOnly(hold);
        if (sx?.topic !== tx) sx = new Series(tx, x.path);
        if (sy?.topic !== ty) sy = new Series(ty, y.path);
        const to = cursor.peek() === undefined ? Infinity : now;
        sx.update(now - span, Math.min(to, now + 1));
        sy.update(now - span, Math.min(to, now + 1));
        const points: [number, number][] = [];
        for (let i = sx.index(now - span); i < sx.times.length && sx.times[i] <= to; i++) {
          const v = tx === ty ? sy.values[i] : sy.at(sx.times[i]);
          if (Number.isFinite(v) && Number.isFinite(sx.values[i])) points.push([sx.values[i], v]);
        }
        draw(c, points, density);
        c.dataset.points = String(points.length);
      });
    }, [x?.topic, x?.path, y?.topic, y?.path, span, ctx.robot]);
    useEffect(() => acceptPicks(ctx.root, (p) => ctx.set(ctx.settings.peek().x ? { y: p } : { x: p })), []);
    return (
      <div class="column">
        <div class="bar">
          {(["x", "y"] as const).map((axis) =>
            ctx.settings.value[axis] ? (
              <button class="series" title="choose another" onClick={() => ctx.set({ [axis]: undefined })}>
                <span class="faint">{axis}</span> {pickText(ctx.settings.value[axis])}
              </button>
            ) : (
              <Picker robot={ctx.robot} hint={`value for ${axis}`} onPick={(p) => ctx.set({ [axis]: p })} />
            ),
          )}
          <span style={{ flex: 1 }} />
          <select value={span} onChange={(e) => ctx.set({ span: Number(e.currentTarget.value) })} aria-label="how far back">
            {WINDOWS.map((w) => (
              <option value={w}>{w < 60 ? `${w} s` : `${w / 60} min`}</option>
            ))}
          </select>
        </div>
        <div class="plot">
          <canvas ref={canvas} />
        </div>
      </div>
    );
  };
}

const nice = (v: number) => Number(v.toPrecision(3)).toString();
function draw(c: HTMLCanvasElement, points: [number, number][], density: boolean, empty = "no values yet") {
  const { width, height } = c.getBoundingClientRect();
  const ratio = Math.min(devicePixelRatio || 1, 2);
  c.width = width * ratio;
  c.height = height * ratio;
  const pen = c.getContext("2d")!;
  pen.scale(ratio, ratio);
  pen.font = "11px system-ui, sans-serif";
  pen.fillStyle = colour("faint");
  if (!points.length) return pen.fillText(empty, 12, 20);
  let [x0, x1, y0, y1] = [Infinity, -Infinity, Infinity, -Infinity];
  for (const [x, y] of points) {
    x0 = Math.min(x0, x);
    x1 = Math.max(x1, x);
    y0 = Math.min(y0, y);
    y1 = Math.max(y1, y);
  }
  const margin = (a: number, b: number) => Math.max((b - a) * 0.06, Math.abs(a) * 1e-6, 1e-9);
  [x0, x1] = [x0 - margin(x0, x1), x1 + margin(x0, x1)];
  [y0, y1] = [y0 - margin(y0, y1), y1 + margin(y0, y1)];
  const left = 58;
  const low = height - 22;
  const u = (x: number) => left + ((x - x0) / (x1 - x0)) * (width - left - 8);
  const v = (y: number) => low - ((y - y0) / (y1 - y0)) * (low - 8);
  if (density) {
    const counts = new Uint32Array(BINS * BINS);
    for (const [x, y] of points) counts[Math.min(BINS - 1, Math.floor(((x - x0) / (x1 - x0)) * BINS)) + BINS * Math.min(BINS - 1, Math.floor(((y - y0) / (y1 - y0)) * BINS))]++;
    const most = counts.reduce((a, b) => Math.max(a, b), 1);
    const [w, h] = [(width - left - 8) / BINS, (low - 8) / BINS];
    for (let i = 0; i < counts.length; i++)
      if (counts[i]) {
        pen.fillStyle = faded(colour("accent"), 0.12 + 0.88 * Math.sqrt(counts[i] / most));
        pen.fillRect(left + (i % BINS) * w, low - (Math.floor(i / BINS) + 1) * h, w + 0.5, h + 0.5);
      }
  } else {
    for (const [i, [x, y]] of points.entries()) {
      pen.fillStyle = faded(colour("accent"), 0.15 + (0.85 * i) / points.length);
      pen.fillRect(u(x) - 1, v(y) - 1, 2.5, 2.5);
    }
    const [x, y] = points[points.length - 1];
    pen.fillStyle = colour("text");
    pen.beginPath();
    pen.arc(u(x), v(y), 4, 0, 2 * Math.PI);
    pen.fill();
  }
  pen.strokeStyle = colour("line");
  pen.strokeRect(left, 8, width - left - 8, low - 8);
  pen.fillStyle = colour("faint");
  pen.textAlign = "right";
  pen.fillText(nice(y1), left - 5, 16);
  pen.fillText(nice(y0), left - 5, low);
  pen.fillText(nice(x1), width - 8, height - 7);
  pen.textAlign = "left";
  pen.fillText(nice(x0), left, height - 7);
}
panel({ id: "xy", title: "XY graph", about: "one value against another", group: "data", view: makeXY(false) });
panel({ id: "histogram", title: "Histogram", about: "how often two values occur together", group: "data", view: makeXY(true) });
