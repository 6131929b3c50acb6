// A camera's image, or a picture that a module shows (nm_show), with what was found in it as layers that switch on and
// off. Without images, the layers lie on an empty picture.
import { players, world } from "../data/clock";
import { apply, compose, horizon, invert, type Lens, lensOf, type Pixel, type Pose3, pose3 } from "../data/lens";
import { fieldOf, paintOf } from "../data/plane";
import type { Robot, Topic } from "../data/robot";
import { canvasOf, colour, faded } from "../ui/canvas";
import { type PanelContext, panel } from "../ui/panel";
import { say } from "../ui/shell";

type Draw = (pen: Pen, m: any) => void;
interface Pen {
  line(points: (Pixel | undefined)[], tint: string, width?: number): void;
  fill(points: Pixel[], tint: string): void;
  box(x: number, y: number, w: number, h: number, tint: string, text?: string): void;
  circle(x: number, y: number, r: number, tint: string): void;
}
const KINDS = ["?", "ball", "post", "L", "T", "X", "mark", "circle", "robot", "mate", "rival", "human", "obstacle", "referee"];
// the same by day and by night: an image has its own light
const TINT = { candidate: "#e8e8f0", ball: "#ffa62b", line: "#4fd8ff", border: "#ffe14f", body: "#ff4fd8", post: "#ffe9a8", robot: "#ff5a4f", horizon: "#b69cff", truth: "#a8ff3e" };
const tintOf = (kind: number) => (kind === 1 ? TINT.ball : kind === 2 ? TINT.post : kind >= 8 ? TINT.robot : TINT.line);

// ---- layers: a topic belongs to the first one that names its type ----

const drawBalls: Draw = (pen, m) => m.candidates.forEach((b: any) => pen.circle(b.center.x, b.center.y, b.diameter / 2, faded(TINT.ball, 0.3 + 0.7 * b.confidence)));
const drawPercepts: Draw = (pen, m) => {
  for (const p of m.percepts) {
    const text = `${KINDS[p.kind] ?? p.kind} ${Math.round(100 * p.confidence)}`;
    if (p.box.width) pen.box(p.box.x_offset, p.box.y_offset, p.box.width, p.box.height, tintOf(p.kind), text);
    else pen.circle(p.center.x, p.center.y, 4, tintOf(p.kind));
  }
};
const drawPosts = (pen: Pen, posts: any[]) => {
  for (const p of posts) if (p.confidence !== 0) pen.line([p.foot_point, p.top_point], TINT.post, Math.max(2, p.width / 4));
};
const layers: { id: string; about: string; off?: boolean; only?: RegExp; draws?: Record<string, Draw> }[] = [
  {
    id: "candidates",
    about: "places that may be a ball",
    only: /candidate|region/,
    draws: {
      BallsInImage: (pen, m) => m.candidates.forEach((b: any) => pen.circle(b.center.x, b.center.y, b.diameter / 2, TINT.candidate)),
      RegionsOfInterest: (pen, m) => m.regions.forEach((r: any) => pen.box(r.x_offset, r.y_offset, r.width, r.height, TINT.candidate)),
    },
  },
  { id: "ball", about: "balls, the surest drawn strongest", draws: { BallsInImage: drawBalls, BallInImage: (pen, m) => m.confidence > 0 && pen.circle(m.center.x, m.center.y, m.diameter / 2, TINT.ball) } },
  {
    id: "lines",
    about: "lines of the field, their crossings and the marks",
    only: /line|feature/,
    draws: {
      LineInformationInImage: (pen, m) => {
        for (const s of m.segments) pen.line([s.start, s.end], TINT.line, 2);
        for (const c of m.circles) pen.line([c.left, c.middle, c.right], TINT.line, 2);
      },
      Percepts: drawPercepts,
    },
  },
  { id: "border", about: "where the field ends", draws: { FieldBorder: (pen, m) => pen.line(m.in_image, TINT.border, 2) } },
  { id: "body", about: "parts of the robot's own body", draws: { BodyInImage: (pen, m) => m.outlines.forEach((o: any) => pen.fill(o.points, TINT.body)) } },
  { id: "posts", about: "goal posts", draws: { GoalPartsInImage: (pen, m) => drawPosts(pen, m.posts), GoalInImage: (pen, m) => drawPosts(pen, [m.left_post, m.right_post]) } },
  { id: "robots", about: "robots and other obstacles", draws: { ObstaclesInImage: (pen, m) => m.obstacles.forEach((o: any) => pen.box(o.top_left.x, o.top_left.y, o.width, o.height, TINT.robot)) } },
  { id: "percepts", about: "everything that was found, with its name and how sure it is", draws: { Percepts: drawPercepts } },
  { id: "horizon", about: "where the robot believes the horizon to be, by its joints and its inertial sensor" },
  {
    id: "truth",
    about: "what is really there, in simulation",
    off: true,
    draws: {
      CameraTruth: (pen, m) => {
        for (const o of m.objects) {
          if (o.diameter > 0) pen.circle(o.center.x, o.center.y, o.diameter / 2, TINT.truth);
          else pen.box(o.box.x_offset, o.box.y_offset, o.box.width, o.box.height, TINT.truth);
        }
        for (const l of m.lines) pen.line([l.start, l.end], faded(TINT.truth, 0.7));
      },
    },
  },
];
const shortType = (t: string) => t.slice(t.lastIndexOf("/") + 1);
const layerOf = (t: Topic) => layers.find((l) => l.draws?.[shortType(t.type)] && (l.only?.test(t.name) ?? true));

// The field, the ball and the other robots through the lens of a camera whose pose in the field is known.
function drawTruth(pen: Pen, bodies: any[], self: string, camera: Pose3, lens: Lens) {
  const to = invert(camera);
  const see = (x: number, y: number, z: number) => lens(apply(to, [x, y, z]));
  const tint = TINT.truth;
  for (const outline of paintOf(fieldOf(players.peek())).lines)
    for (let i = 1; i < outline.length; i++) {
      const [[x0, y0], [x1, y1]] = [outline[i - 1], outline[i]];
      const n = Math.ceil(Math.hypot(x1 - x0, y1 - y0) / 0.25);
      pen.line(Array.from({ length: n + 1 }, (_, k) => see(x0 + ((x1 - x0) * k) / n, y0 + ((y1 - y0) * k) / n, 0)), faded(tint, 0.8));
    }
  for (const b of bodies) {
    const { x, y, z } = b.pose.position;
    const middle = see(x, y, z);
    if (b.name === self || !middle) continue;
    const away = Math.hypot(x - camera.p[0], y - camera.p[1], z - camera.p[2]);
    const side = see(x, y, z + 0.01);
    const pixels = side ? 100 * Math.hypot(side.x - middle.x, side.y - middle.y) : 0; // a metre there
    if (b.name === "ball") pen.circle(middle.x, middle.y, pixels * 0.07, tint);
    else if (away > 0.3) pen.box(middle.x - 0.15 * pixels, middle.y - 0.3 * pixels, 0.3 * pixels, 0.6 * pixels, tint, b.name);
  }
}

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

const FAR = !/^(localhost|127\.|\[::1\])/.test(location.host);
const score = (t: Topic) => (/classes|mask|debug/.test(t.name) ? 0 : t.type.includes("Compressed") === FAR ? 2 : 1);

const CLICKS = "/clicked_point";
const SHOWN = "shown by modules"; // their pictures, before the first has come

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
  send.title = "publishes places in the image that you click, as geometry_msgs/PointStamped on /clicked_point with the stamp of the image";
  send.onclick = () => ctx.set({ clicks: !ctx.settings.peek().clicks });
  const under = document.createElement("span");
  under.className = "faint numbers";
  head.append(select, send, under);

  const picture = document.createElement("canvas");
  let pictured: unknown;
  let size = { width: 640, height: 480 };
  let place = { x: 0, y: 0, scale: 1 };
  let view = { x: 0, y: 0, zoom: 1 };
  let header: any; // of the image
  let clicked: (Pixel & { until: number })[] = []; // places that were sent just now
  const shows = new Map<string, any>(); // pictures of nm_show by name
  let shown = -Infinity;

  const toImage = (e: MouseEvent) => ({ x: (e.offsetX - place.x) / place.scale, y: (e.offsetY - place.y) / place.scale });
  const inside = (p: Pixel) => p.x >= 0 && p.y >= 0 && p.x < size.width && p.y < size.height;
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
    const rgb = inside(p) && pictured ? picture.getContext("2d")!.getImageData(Math.floor(p.x), Math.floor(p.y), 1, 1).data : undefined;
    under.textContent = inside(p) ? `${Math.floor(p.x)}, ${Math.floor(p.y)}${rgb ? `  rgb ${rgb[0]} ${rgb[1]} ${rgb[2]}` : ""}` : "";
  };
  canvas.ondblclick = () => (view = { x: 0, y: 0, zoom: 1 });
  canvas.onclick = (e) => {
    const robot = ctx.robot;
    if (!ctx.settings.peek().clicks || !robot) return;
    const p = toImage(e);
    if (!header || !inside(p)) return;
    if (!robot.topics.peek().has(CLICKS)) return say(`${robot.name} does not listen to clicks: its line-up has no topic ${CLICKS}, as the line-up calibrate has`, true);
    try {
      robot.publish(CLICKS, "geometry_msgs/msg/PointStamped", { header, point: { ...p, z: 0 } });
      clicked.push({ ...p, until: performance.now() + 2000 });
      if (last !== undefined) draw(last);
    } catch (error) {
      say((error as Error).message, true);
    }
  };

  const isOn = (id: string) => ctx.settings.peek().layers?.[id] ?? !layers.find((l) => l.id === id)!.off;
  let listed = "";
  function list(robot: Robot): { images: Topic[]; drawn: Topic[] } {
    const all = [...robot.topics.peek().values()];
    // over a network the smaller form of an image is the better one
    const images = all.filter((t) => /\/(Compressed)?Image$/.test(t.type)).sort((a, b) => score(b) - score(a));
    const drawn = all.filter((t) => layerOf(t));
    const has = new Set(drawn.map((t) => layerOf(t)!.id));
    if (robot.topics.peek().has("/camera/pose") && robot.topics.peek().has("/camera/camera_info")) {
      has.add("horizon");
      if (world.peek()) has.add("truth");
    }
    const chosen = ctx.settings.peek().source;
    // modules draw their pictures only while somebody asks for them
    const sources = [...images.map((t) => t.name), ...[...shows.keys()].map((n) => `show ${n}`), ...(robot.topics.peek().has("/show") && !shows.size ? [SHOWN] : [])];
    if (shows.size && chosen === SHOWN) ctx.set({ source: `show ${[...shows.keys()][0]}` });
    const key = JSON.stringify([robot.key, sources, [...has], ctx.settings.peek()]);
    if (key !== listed) {
      listed = key;
      select.replaceChildren(...[...sources, "no image"].map((s) => new Option(s, s)));
      select.value = chosen ?? images[0]?.name ?? "no image";
      send.classList.toggle("on", !!ctx.settings.peek().clicks);
      bar.replaceChildren(
        ...layers.filter((l) => has.has(l.id)).map(({ id, about }) => {
          const chip = document.createElement("button");
          chip.className = `chip ${isOn(id) ? "on" : ""}`;
          chip.textContent = id;
          chip.title = about;
          chip.dataset.layer = id;
          chip.onclick = () => ctx.set({ layers: { ...ctx.settings.peek().layers, [id]: !isOn(id) } });
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
    const source: string | undefined = ctx.settings.peek().source ?? images[0]?.name;
    const show$ = source?.startsWith("show") ? ctx.topic(robot, "/show") : undefined;
    if (show$) {
      hold.add(show$);
      show$.each(shown, now, (time, v) => {
        if (v.kind === 3) shows.set(v.name, v.image);
        shown = time;
      });
    }
    const read = (name: string, time = now, owner: Robot | undefined = robot): any => {
      const topic = ctx.topic(owner, name);
      if (!topic) return undefined;
      hold.add(topic);
      return topic.at(time)?.value;
    };
    // what was found in an image comes a little later than the image: the two are shown together
    const found = drawn.filter((t) => isOn(layerOf(t)!.id)).flatMap((t) => {
      ctx.topic(robot, t.name);
      hold.add(t);
      const entry = t.at(now);
      return entry && now - entry.time < 1 ? [{ layer: layerOf(t)!, type: shortType(t.type), m: entry.value }] : [];
    });
    const stamp = Math.max(...found.map((f) => stampOf(f.m)));
    let message: any;
    if (source?.startsWith("show")) message = shows.get(source.slice(5));
    else if (source) {
      message = read(source);
      if (message && stamp < stampOf(message)) ctx.topic(robot, source)!.each(now - 0.5, now, (_time, m) => stampOf(m) === stamp && (message = m));
    }
    if (message) {
      header = message.header;
      show(message).catch((error) => {
        under.textContent = error.message;
      });
      if (picture.width) size = { width: picture.width, height: picture.height };
    } else {
      pictured = header = undefined;
      const info = read("/camera/camera_info");
      if (info?.width) size = { width: info.width, height: info.height };
    }
    const scale = Math.min(area.width / size.width, area.height / size.height) * view.zoom;
    place = { scale, x: (area.width - size.width * scale) / 2 + view.x, y: (area.height - size.height * scale) / 2 + view.y };
    pen.save();
    pen.translate(place.x, place.y);
    pen.scale(scale, scale);
    pen.imageSmoothingEnabled = scale < 2;
    const age = message && stampOf(message) > 0 ? now - stampOf(message) : 0;
    if (message && pictured) {
      pen.filter = age > 1 ? "grayscale(1) brightness(0.7)" : "none";
      pen.drawImage(picture, 0, 0);
      pen.filter = "none";
    } else {
      pen.fillStyle = colour("raised");
      pen.fillRect(0, 0, size.width, size.height);
    }
    const thin = 1 / scale;
    const tools: Pen = {
      line(points, tint, width = 1.5) {
        pen.strokeStyle = tint;
        pen.lineWidth = width * thin;
        pen.beginPath();
        points.forEach((p, i) => p && pen[points[i - 1] ? "lineTo" : "moveTo"](p.x, p.y));
        pen.stroke();
      },
      fill(points, tint) {
        pen.fillStyle = faded(tint, 0.25);
        pen.strokeStyle = tint;
        pen.lineWidth = thin;
        pen.beginPath();
        points.forEach((p, i) => pen[i ? "lineTo" : "moveTo"](p.x, p.y));
        pen.closePath();
        pen.fill();
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
    pen.save();
    pen.beginPath();
    pen.rect(0, 0, size.width, size.height);
    pen.clip();
    for (const { layer, type, m } of found) layer.draws![type](tools, m);
    if (isOn("horizon") || isOn("truth")) drawByPose(robot, tools, read, message ? stampOf(message) : now);
    clicked = clicked.filter((c) => performance.now() < c.until);
    for (const { x, y } of clicked)
      for (const side of [-1, 1]) tools.line([{ x: x - 7 * thin, y: y - 7 * side * thin }, { x: x + 7 * thin, y: y + 7 * side * thin }], TINT.truth, 2);
    pen.restore();
    pen.restore();
    pen.font = "13px system-ui, sans-serif";
    if (age > 1) {
      pen.fillStyle = colour("warn");
      pen.fillText(`${age.toFixed(0)} s old`, 12, 48);
    }
    if (!message) {
      pen.fillStyle = colour("faint");
      pen.fillText(images.length ? (source ? "no image has come yet" : "") : `${robot.name} has no camera image`, place.x + 14, place.y + 40);
    }
    ctx.keepOnly(hold);
    canvas.dataset.image = message ? `${size.width}x${size.height}` : "";
    canvas.dataset.stamp = message ? stampOf(message).toFixed(3) : "";
    canvas.dataset.layers = layers.filter((l) => isOn(l.id)).map((l) => l.id).join(" ");
    canvas.dataset.place = `${place.x} ${place.y} ${place.scale}`;
  }
  // Horizon and truth at the time of the image.
  function drawByPose(robot: Robot, tools: Pen, read: (name: string, time?: number, owner?: Robot) => any, time: number) {
    const [info, seen] = [read("/camera/camera_info"), read("/camera/pose")];
    if (!info?.k[0] || !seen) return;
    const lens = lensOf(info);
    const camera = pose3(seen.pose);
    if (isOn("horizon")) tools.line(horizon(camera, lens), seen.valid ? TINT.horizon : faded(TINT.horizon, 0.4), 1.5);
    if (!isOn("truth") || robot.topics.peek().has("/truth/camera")) return;
    // at the time of the image or, where the page began to listen later, as soon after it as it knows
    const near = (name: string, at: number, owner?: Robot) => read(name, at, owner) ?? read(name, undefined, owner);
    const truth = near("/truth/world", time + 0.01, world.peek()); // it comes every 20 ms
    const self = truth?.bodies.find((b: any) => b.name === robot.name);
    const torso = self && near("/body_state", stampOf(seen))?.torso;
    // the believed pose of the camera on the torso, on the real torso
    if (torso) drawTruth(tools, truth.bodies, robot.name, compose(pose3(self.pose), compose(invert(pose3(torso)), camera)), lens);
  }
  ctx.onFrame(draw);
}
const stampOf = (m: any): number => (m.header ? m.header.stamp.sec + m.header.stamp.nanosec * 1e-9 : -Infinity);
panel({ id: "image", title: "Camera", about: "images with what was found in them", group: "robot", mount });
