// A camera's image, or a picture that a module shows (nm_show), with what was found in it. Every topic that speaks of
// places in the image is an overlay that switches on and off. Without images, the overlays lie on an empty picture.
import type { Robot, Topic } from "../data/robot";
import { canvasOf, colour, faded } from "../ui/canvas";
import { type PanelContext, panel } from "../ui/panel";
import { say } from "../ui/shell";

type Draw = (pen: Pen, m: any) => void;
interface Pen {
  line(points: { x: number; y: number }[], tint: string, width?: number): void;
  box(x: number, y: number, w: number, h: number, tint: string, text?: string): void;
  circle(x: number, y: number, r: number, tint: string): void;
}
const KINDS = ["?", "ball", "post", "L", "T", "X", "mark", "circle", "robot", "mate", "rival", "human", "obstacle", "referee"];
const tintOf = (kind: number) => (kind === 1 ? colour("ball") : kind === 2 ? colour("accent") : kind >= 8 ? colour("bad") : colour("blue"));

const overlays: Record<string, Draw> = {
  Percepts: (pen, m) => {
    for (const p of m.percepts) {
      const text = `${KINDS[p.kind] ?? p.kind} ${Math.round(100 * p.confidence)}`;
      if (p.box.width) pen.box(p.box.x_offset, p.box.y_offset, p.box.width, p.box.height, tintOf(p.kind), text);
      else pen.circle(p.center.x, p.center.y, 4, tintOf(p.kind));
    }
  },
  CameraTruth: (pen, m) => {
    for (const o of m.objects) {
      if (o.diameter > 0) pen.circle(o.center.x, o.center.y, o.diameter / 2, colour("good"));
      else pen.box(o.box.x_offset, o.box.y_offset, o.box.width, o.box.height, colour("good"));
    }
    for (const l of m.lines) pen.line([l.start, l.end], faded(colour("good"), 0.7));
  },
  BallsInImage: (pen, m) => m.candidates.forEach((b: any) => pen.circle(b.center.x, b.center.y, b.diameter / 2, faded(colour("ball"), 0.3 + 0.7 * b.confidence))),
  BallInImage: (pen, m) => m.confidence > 0 && pen.circle(m.center.x, m.center.y, m.diameter / 2, colour("ball")),
  LineInformationInImage: (pen, m) => {
    for (const s of m.segments) pen.line([s.start, s.end], colour("blue"), 2);
    for (const c of m.circles) pen.line([c.left, c.middle, c.right], colour("blue"), 2);
  },
  ObstaclesInImage: (pen, m) => m.obstacles.forEach((o: any) => pen.box(o.top_left.x, o.top_left.y, o.width, o.height, colour("bad"))),
  GoalPartsInImage: (pen, m) => m.posts.forEach((p: any) => pen.line([p.foot_point, p.top_point], colour("accent"), Math.max(2, p.width / 4))),
  GoalInImage: (pen, m) => {
    for (const p of [m.left_post, m.right_post]) if (p.confidence > 0) pen.line([p.foot_point, p.top_point], colour("accent"), 3);
  },
  FieldBorder: (pen, m) => pen.line(m.in_image, colour("warn"), 2),
  RegionsOfInterest: (pen, m) => m.regions.forEach((r: any) => pen.box(r.x_offset, r.y_offset, r.width, r.height, colour("soft"))),
};
const shortType = (t: string) => t.slice(t.lastIndexOf("/") + 1);

// ---- pixels ----

function clamp(v: number) {
  return v < 0 ? 0 : v > 255 ? 255 : v;
}
function yuv(to: Uint8ClampedArray, at: number, y: number, u: number, v: number) {
  to[at] = clamp(y + 1.402 * (v - 128));
  to[at + 1] = clamp(y - 0.344136 * (u - 128) - 0.714136 * (v - 128));
  to[at + 2] = clamp(y + 1.772 * (u - 128));
  to[at + 3] = 255;
}
export function decodeImage(m: any): ImageData {
  const { width, height, data, step, encoding } = m as { width: number; height: number; data: Uint8Array; step: number; encoding: string };
  const image = new ImageData(width, height);
  const to = image.data;
  const channels: Record<string, number[]> = { rgb8: [0, 1, 2, 3], bgr8: [2, 1, 0, 3], "8UC3": [2, 1, 0, 3], rgba8: [0, 1, 2, 4], bgra8: [2, 1, 0, 4], mono8: [0, 0, 0, 1], "8UC1": [0, 0, 0, 1] };
  const order = channels[encoding];
  const yuyv = /yuyv|yuy2/.test(encoding);
  if (!order && !yuyv && !/uyvy|yuv422/.test(encoding)) throw new Error(`images with the encoding ${encoding} are not shown`);
  for (let y = 0; y < height; y++) {
    const row = y * (step || width * (order?.[3] ?? 2));
    for (let x = 0; x < width; x++) {
      const at = 4 * (y * width + x);
      if (order) {
        const from = row + x * order[3];
        to[at] = data[from + order[0]];
        to[at + 1] = data[from + order[1]];
        to[at + 2] = data[from + order[2]];
        to[at + 3] = 255;
      } else {
        const pair = row + 4 * (x >> 1);
        const odd = x & 1;
        if (yuyv) yuv(to, at, data[pair + 2 * odd], data[pair + 1], data[pair + 3]);
        else yuv(to, at, data[pair + 1 + 2 * odd], data[pair], data[pair + 2]);
      }
    }
  }
  return image;
}

function mount(ctx: PanelContext) {
  const { canvas, pen, fit } = canvasOf(ctx);
  const bar = document.createElement("div");
  bar.className = "chips";
  ctx.root.append(bar);
  const head = document.createElement("div");
  head.className = "corner";
  ctx.root.append(head);
  const select = document.createElement("select");
  select.ariaLabel = "source of the image";
  select.onchange = () => ctx.set({ source: select.value });
  const send = document.createElement("button");
  send.className = "chip";
  send.textContent = "send clicks";
  send.title = "publishes places in the image that you click, as geometry_msgs/PointStamped on /clicked_point";
  send.onclick = () => ctx.set({ clicks: !ctx.settings.peek().clicks });
  const under = document.createElement("span");
  under.className = "faint numbers";
  head.append(select, send, under);

  const picture = document.createElement("canvas");
  let pictured: unknown;
  let size = { width: 640, height: 480 };
  let place = { x: 0, y: 0, scale: 1 };
  let view = { x: 0, y: 0, zoom: 1 };
  let frame = "";
  const shows = new Map<string, any>(); // pictures of nm_show by name
  let shown = -Infinity;

  const toImage = (e: MouseEvent) => ({ x: (e.offsetX - place.x) / place.scale, y: (e.offsetY - place.y) / place.scale });
  canvas.addEventListener("wheel", (e) => {
    e.preventDefault();
    const p = toImage(e);
    const next = Math.min(Math.max(view.zoom * Math.exp(-e.deltaY * 0.0015), 1), 30);
    const f = next / view.zoom;
    view = { zoom: next, x: next === 1 ? 0 : view.x + (place.scale - place.scale * f) * (p.x - size.width / 2), y: next === 1 ? 0 : view.y + (place.scale - place.scale * f) * (p.y - size.height / 2) };
    if (last !== undefined) draw(last);
  }, { passive: false });
  canvas.onpointermove = (e) => {
    if (e.buttons & 1 && view.zoom > 1) {
      view.x += e.movementX;
      view.y += e.movementY;
      if (last !== undefined) draw(last);
    }
    const p = toImage(e);
    const inside = p.x >= 0 && p.y >= 0 && p.x < size.width && p.y < size.height;
    const rgb = inside && pictured ? picture.getContext("2d")!.getImageData(Math.floor(p.x), Math.floor(p.y), 1, 1).data : undefined;
    under.textContent = inside ? `${Math.floor(p.x)}, ${Math.floor(p.y)}${rgb ? `  rgb ${rgb[0]} ${rgb[1]} ${rgb[2]}` : ""}` : "";
  };
  canvas.ondblclick = () => (view = { x: 0, y: 0, zoom: 1 });
  canvas.onclick = (e) => {
    const robot = ctx.robot;
    if (!ctx.settings.peek().clicks || !robot) return;
    const p = toImage(e);
    try {
      robot.publish("/clicked_point", "geometry_msgs/msg/PointStamped", { header: { frame_id: frame }, point: { x: p.x, y: p.y, z: 0 } });
    } catch (error) {
      say((error as Error).message, true);
    }
  };

  const isOn = (topic: string) => ctx.settings.peek().overlays?.[topic] ?? !topic.startsWith("/truth");
  let listed = "";
  function list(robot: Robot): { images: Topic[]; drawn: Topic[] } {
    const all = [...robot.topics.peek().values()];
    const images = all.filter((t) => /\/(Compressed)?Image$/.test(t.type));
    const drawn = all.filter((t) => shortType(t.type) in overlays);
    const sources = [...images.map((t) => t.name), ...[...shows.keys()].map((n) => `show ${n}`)];
    const key = JSON.stringify([robot.key, sources, drawn.map((t) => t.name), ctx.settings.peek()]);
    if (key !== listed) {
      listed = key;
      select.replaceChildren(...[...sources, "no image"].map((s) => new Option(s, s)));
      select.value = ctx.settings.peek().source ?? sources[0] ?? "no image";
      send.classList.toggle("on", !!ctx.settings.peek().clicks);
      bar.replaceChildren(
        ...drawn.map((t) => {
          const chip = document.createElement("button");
          chip.className = `chip ${isOn(t.name) ? "on" : ""}`;
          chip.textContent = t.name.slice(1);
          chip.dataset.layer = t.name;
          chip.onclick = () => ctx.set({ overlays: { ...ctx.settings.peek().overlays, [t.name]: !isOn(t.name) } });
          return chip;
        }),
      );
    }
    return { images, drawn };
  }

  async function show(m: any) {
    if (pictured === m) return;
    pictured = m;
    if ("format" in m) {
      const bitmap = await createImageBitmap(new Blob([m.data]));
      picture.width = bitmap.width;
      picture.height = bitmap.height;
      picture.getContext("2d")!.drawImage(bitmap, 0, 0);
    } else {
      const image = decodeImage(m);
      picture.width = image.width;
      picture.height = image.height;
      picture.getContext("2d")!.putImageData(image, 0, 0);
    }
  }

  let last: number | undefined;
  function draw(now: number) {
    last = now;
    const area = fit();
    pen.fillStyle = colour("back");
    pen.fillRect(0, 0, area.width, area.height);
    const robot = ctx.robot;
    if (!robot) return;
    const hold = new Set<Topic>();
    const { images, drawn } = list(robot);
    const source = ctx.settings.peek().source ?? images[0]?.name ?? [...shows.keys()].map((n) => `show ${n}`)[0];
    const show$ = ctx.topic(robot, "/show");
    if (show$ && (source === undefined || source.startsWith("show "))) {
      hold.add(show$);
      show$.each(shown, now, (time, v) => {
        if (v.kind === 3) shows.set(v.name, v.image);
        shown = time;
      });
    }
    let message: any;
    if (source?.startsWith("show ")) message = shows.get(source.slice(5));
    else if (source) {
      const topic = ctx.topic(robot, source);
      if (topic) hold.add(topic);
      message = topic?.at(now)?.value;
    }
    if (message) {
      frame = message.header.frame_id;
      show(message).catch((error) => {
        under.textContent = error.message;
      });
      if (picture.width) size = { width: picture.width, height: picture.height };
    } else {
      pictured = undefined;
      const info = ctx.topic(robot, "/camera/camera_info");
      if (info) {
        hold.add(info);
        const m = info.at(now)?.value;
        if (m?.width) size = { width: m.width, height: m.height };
      }
    }
    const scale = Math.min(area.width / size.width, area.height / size.height) * view.zoom;
    place = { scale, x: (area.width - size.width * scale) / 2 + view.x, y: (area.height - size.height * scale) / 2 + view.y };
    pen.save();
    pen.translate(place.x, place.y);
    pen.scale(scale, scale);
    pen.imageSmoothingEnabled = scale < 2;
    if (message && pictured) pen.drawImage(picture, 0, 0);
    else {
      pen.fillStyle = colour("raised");
      pen.fillRect(0, 0, size.width, size.height);
    }
    const thin = 1 / scale;
    const tools: Pen = {
      line(points, tint, width = 1.5) {
        pen.strokeStyle = tint;
        pen.lineWidth = width * thin;
        pen.beginPath();
        points.forEach((p, i) => pen[i ? "lineTo" : "moveTo"](p.x, p.y));
        pen.stroke();
      },
      box(x, y, w, h, tint, text) {
        pen.strokeStyle = tint;
        pen.lineWidth = 1.5 * thin;
        pen.strokeRect(x, y, w, h);
        if (!text) return;
        pen.fillStyle = tint;
        pen.font = `${11 * thin}px system-ui, sans-serif`;
        pen.fillText(text, x, y - 3 * thin);
      },
      circle(x, y, r, tint) {
        pen.strokeStyle = tint;
        pen.lineWidth = 1.5 * thin;
        pen.beginPath();
        pen.arc(x, y, Math.max(r, thin), 0, 2 * Math.PI);
        pen.stroke();
      },
    };
    for (const topic of drawn) {
      if (!isOn(topic.name)) continue;
      ctx.topic(robot, topic.name);
      hold.add(topic);
      const entry = topic.at(now);
      if (entry && now - entry.time < 1) overlays[shortType(topic.type)](tools, entry.value);
    }
    pen.restore();
    ctx.keepOnly(hold);
    canvas.dataset.image = message ? `${size.width}x${size.height}` : "";
  }
  ctx.onFrame(draw);
}
panel({ id: "image", title: "Camera", about: "images with what was found in them", group: "robot", mount });
