// The field from above: where every robot is and believes to be, the ball, and what each of them plans. The field lies as
// team 0 sees it; robots of the other team, whose own map is turned by half a turn, are turned back.
import { players, world } from "../data/clock";
import { ellipse, fieldOf, HALF_TURN, HERE, inverse, paintOf, place, type Pose2, pose2, times } from "../data/plane";
import type { Robot, Topic } from "../data/robot";
import { follow, followed } from "../data/session";
import { canvasOf, colour, faded, teamColour } from "../ui/canvas";
import { type PanelContext, panel } from "../ui/panel";
import { moveBody, pushBody } from "../ui/simulation";

const layers: { id: string; title: string; on: boolean; about: string }[] = [
  { id: "truth", title: "truth", on: true, about: "where everything really is, in simulation" },
  { id: "poses", title: "poses", on: true, about: "where each robot believes to be, with two standard deviations" },
  { id: "particles", title: "particles", on: false, about: "all beliefs of the followed robot about its pose" },
  { id: "seen", title: "seen by each", on: false, about: "what the followed robot sees, as it would lie seen from each particle" },
  { id: "ball", title: "ball", on: true, about: "the ball of the followed robot, and where it will come to rest" },
  { id: "team", title: "team ball", on: false, about: "the ball as each team believes it to be" },
  { id: "obstacles", title: "obstacles", on: true, about: "obstacles of the followed robot" },
  { id: "paths", title: "paths", on: true, about: "where robots walk to" },
  { id: "percepts", title: "percepts", on: false, about: "what the followed robot sees now, from where it believes to be" },
  { id: "beliefs", title: "mates", on: false, about: "what the mates told the followed robot" },
  { id: "plan", title: "plan", on: false, about: "the places of the followed robot's strategy" },
];

const TOPICS: Record<string, string[]> = {
  every: ["/pose", "/hcm_state", "/match_state"],
  paths: ["/path", "/odometry", "/navigation_state"],
  particles: ["/pose_hypotheses"],
  seen: ["/pose_hypotheses", "/percepts", "/line_relative"],
  ball: ["/ball"],
  team: ["/team_ball"],
  obstacles: ["/obstacles"],
  percepts: ["/percepts", "/line_relative"],
  beliefs: ["/team_state"],
  plan: ["/strategy_plan"],
};
const OF_ALL = new Set(["every", "paths", "team"]); // read from every robot, the others from the followed one

export const numberOf = (name: string) => /\d+[b-z]?$/.exec(name)?.[0] ?? name.slice(0, 2);

function mount(ctx: PanelContext) {
  const { canvas, pen, fit } = canvasOf(ctx);
  const chips = document.createElement("div");
  chips.className = "chips";
  ctx.root.append(chips);
  const isOn = (id: string) => ctx.settings.peek().layers?.[id] ?? layers.find((l) => l.id === id)!.on;
  for (const layer of layers) {
    const chip = document.createElement("button");
    chip.className = "chip";
    chip.textContent = layer.title;
    chip.title = layer.about;
    chip.dataset.layer = layer.id;
    chip.onclick = () => ctx.set({ layers: { ...ctx.settings.peek().layers, [layer.id]: !isOn(layer.id) } });
    chips.append(chip);
  }
  ctx.onClose(ctx.settings.subscribe(() => layers.forEach((l, i) => chips.children[i].classList.toggle("on", isOn(l.id)))));

  // In simulation, dragging may move the ball and robots, or push a robot.
  type Hand = "look" | "move" | "push";
  let hand = "look" as Hand;
  const hands = document.createElement("div");
  hands.className = "hands";
  for (const what of ["move", "push"] as const) {
    const chip = document.createElement("button");
    chip.className = "chip";
    chip.textContent = what;
    chip.title = what === "move" ? "drag the ball and robots (or hold Shift)" : "drag from a robot to push it (or hold Alt)";
    chip.dataset.hand = what;
    chip.onclick = () => {
      hand = hand === what ? "look" : what;
      for (const c of hands.children) c.classList.toggle("on", (c as HTMLElement).dataset.hand === hand);
    };
    hands.append(chip);
  }
  ctx.root.append(hands);
  const PUSH = 5; // N s for each metre that is dragged; the ball is light
  const KICK = 0.4;

  // ---- the camera: pixels a metre, and the place in the middle ----
  let zoom = 1;
  let middle: [number, number] = [0, 0];
  let scale = 100;
  let size = { width: 0, height: 0 };
  const toScreen = (x: number, y: number): [number, number] => [size.width / 2 + (x - middle[0]) * scale, size.height / 2 - (y - middle[1]) * scale];
  const toField = (u: number, v: number): [number, number] => [(u - size.width / 2) / scale + middle[0], (size.height / 2 - v) / scale + middle[1]];
  let drawn: { robot?: Robot; name: string; x: number; y: number; a: number }[] = [];
  let drag: { u: number; v: number; from: [number, number]; moved: boolean; body?: (typeof drawn)[0]; how: Hand } | undefined;
  let pointer: [number, number] = [0, 0];
  function nearest(x: number, y: number): (typeof drawn)[0] | undefined {
    let best: (typeof drawn)[0] | undefined;
    let near = Math.max(0.3, 14 / scale);
    for (const d of drawn) {
      const away = Math.hypot(d.x - x, d.y - y) - (d.name === "ball" ? 0.05 : 0);
      if (away < near) {
        near = away;
        best = d;
      }
    }
    return best;
  }
  // around a place on the screen, which stays where it is
  const zoomAt = (u: number, v: number, factor: number) => {
    const [x, y] = toField(u, v);
    const next = Math.min(Math.max(zoom * factor, 0.4), 20);
    const ratio = zoom / next;
    middle = [x + (middle[0] - x) * ratio, y + (middle[1] - y) * ratio];
    zoom = next;
    redraw();
  };
  const fingers = new Map<number, [number, number]>();
  canvas.onpointerdown = (e) => {
    canvas.setPointerCapture(e.pointerId);
    fingers.set(e.pointerId, [e.offsetX, e.offsetY]);
    if (fingers.size > 1) {
      drag = undefined; // two fingers zoom
      return;
    }
    const how: Hand = e.shiftKey ? "move" : e.altKey ? "push" : hand;
    const body = how === "look" ? undefined : nearest(...toField(e.offsetX, e.offsetY));
    drag = { u: e.offsetX, v: e.offsetY, from: middle, moved: false, body, how };
    pointer = toField(e.offsetX, e.offsetY);
  };
  canvas.onpointermove = (e) => {
    const before = fingers.get(e.pointerId);
    if (before && fingers.size === 2) {
      const [other] = [...fingers].filter(([id]) => id !== e.pointerId).map(([, at]) => at);
      const far = (at: [number, number]) => Math.max(Math.hypot(at[0] - other[0], at[1] - other[1]), 1);
      fingers.set(e.pointerId, [e.offsetX, e.offsetY]);
      zoomAt((e.offsetX + other[0]) / 2, (e.offsetY + other[1]) / 2, far([e.offsetX, e.offsetY]) / far(before));
      return;
    }
    if (!drag) return;
    pointer = toField(e.offsetX, e.offsetY);
    if (Math.hypot(e.offsetX - drag.u, e.offsetY - drag.v) > 4) drag.moved = true;
    if (drag.moved && !drag.body) middle = [drag.from[0] - (e.offsetX - drag.u) / scale, drag.from[1] + (e.offsetY - drag.v) / scale];
    redraw();
  };
  canvas.onpointercancel = (e) => {
    fingers.delete(e.pointerId);
    drag = undefined;
  };
  canvas.onpointerup = (e) => {
    fingers.delete(e.pointerId);
    const [x, y] = toField(e.offsetX, e.offsetY);
    if (drag && !drag.moved) follow(nearest(x, y)?.robot);
    else if (drag?.body && drag.how === "move") moveBody(drag.body.name, x, y, drag.body.a);
    else if (drag?.body && drag.how === "push") {
      const strength = drag.body.name === "ball" ? KICK : PUSH;
      pushBody(drag.body.name, strength * (x - drag.body.x), strength * (y - drag.body.y));
    }
    drag = undefined;
  };
  canvas.ondblclick = () => {
    zoom = 1;
    middle = [0, 0];
    redraw();
  };
  canvas.addEventListener(
    "wheel",
    (e) => {
      e.preventDefault();
      zoomAt(e.offsetX, e.offsetY, Math.exp(-e.deltaY * 0.0015));
    },
    { passive: false },
  );

  // ---- drawing ----
  const line = (points: [number, number][], close = false) => {
    pen.beginPath();
    points.forEach(([x, y], i) => pen[i ? "lineTo" : "moveTo"](...toScreen(x, y)));
    if (close) pen.closePath();
    pen.stroke();
  };
  const disc = (x: number, y: number, radius: number) => {
    const [u, v] = toScreen(x, y);
    pen.beginPath();
    pen.arc(u, v, Math.max(radius * scale, 0.5), 0, 2 * Math.PI);
  };

  function drawField() {
    const f = fieldOf(players.peek());
    const fits = Math.min(size.width / (f.field_length + 2 * f.border + 0.2), size.height / (f.field_width + 2 * f.border + 0.2));
    scale = fits * zoom;
    pen.fillStyle = colour("carpet");
    pen.fillRect(0, 0, size.width, size.height);
    const [l, w] = [f.field_length / 2, f.field_width / 2];
    const [u, v] = toScreen(-l - f.border, w + f.border);
    pen.fillStyle = colour("field");
    pen.beginPath();
    pen.roundRect(u, v, (2 * l + 2 * f.border) * scale, (2 * w + 2 * f.border) * scale, 6);
    pen.fill();
    pen.strokeStyle = faded(colour("paint"), 0.75);
    pen.fillStyle = pen.strokeStyle;
    pen.lineWidth = Math.max(f.line_width * scale, 1);
    const paint = paintOf(f);
    for (const outline of paint.lines) line(outline);
    for (const [x, y] of paint.spots) {
      disc(x, y, 0.05);
      pen.fill();
    }
    for (const side of [-1, 1]) {
      pen.save();
      pen.strokeStyle = side < 0 ? teamColour(0) : teamColour(1);
      if (!world.peek()) pen.strokeStyle = colour("paint");
      pen.lineWidth = Math.max(0.06 * scale, 2);
      line([
        [side * l, -f.goal_width / 2],
        [side * (l + f.goal_depth), -f.goal_width / 2],
        [side * (l + f.goal_depth), f.goal_width / 2],
        [side * l, f.goal_width / 2],
      ]);
      pen.restore();
    }
  }

  function shirt(at: Pose2, robot: Robot, solid: boolean, fallen: boolean, out: boolean) {
    const tint = out ? colour("faint") : teamColour(robot.team);
    const radius = Math.max(0.17, 8 / scale);
    const [u, v] = toScreen(at.x, at.y);
    const r = radius * scale;
    pen.save();
    pen.translate(u, v);
    if (robot === followed.peek() && solid) {
      pen.beginPath();
      pen.arc(0, 0, r + 4, 0, 2 * Math.PI);
      pen.strokeStyle = colour("text");
      pen.lineWidth = 1.5;
      pen.stroke();
    }
    pen.rotate(-at.a);
    pen.beginPath();
    pen.moveTo(r * 1.5, 0);
    pen.lineTo(r * 0.72, r * 0.7);
    pen.lineTo(r * 0.72, -r * 0.7);
    pen.closePath();
    pen.fillStyle = solid ? tint : faded(tint, 0.35);
    pen.fill();
    pen.beginPath();
    if (fallen) pen.ellipse(0, 0, r * 1.25, r * 0.6, 0, 0, 2 * Math.PI);
    else pen.arc(0, 0, r, 0, 2 * Math.PI);
    pen.fillStyle = solid ? tint : faded(tint, 0.18);
    pen.fill();
    pen.strokeStyle = solid ? faded("#000000", 0.35) : tint;
    pen.lineWidth = solid ? 1 : 1.5;
    pen.stroke();
    pen.rotate(at.a);
    if (solid) {
      pen.fillStyle = "#10151b";
      pen.font = `650 ${Math.round(Math.max(r * 1.05, 9))}px system-ui, sans-serif`;
      pen.textAlign = "center";
      pen.textBaseline = "middle";
      pen.fillText(numberOf(robot.name), 0, 0.5);
    }
    pen.restore();
  }
  function oval(x: number, y: number, turn: number, xx: number, xy: number, yy: number) {
    const e = ellipse(xx, xy, yy);
    const [u, v] = toScreen(x, y);
    pen.beginPath();
    pen.ellipse(u, v, Math.min(e.a, 5) * scale, Math.min(e.b, 5) * scale, -(e.angle + turn), 0, 2 * Math.PI);
  }

  const redraw = () => last !== undefined && draw(last);
  let last: number | undefined;
  function draw(now: number) {
    last = now;
    const started = performance.now();
    size = fit();
    drawField();
    const hold = new Set<Topic>();
    const chosen = followed.peek();
    const message = (robot: Robot | undefined, name: string): any => {
      const topic = ctx.topic(robot, name);
      if (!topic) return undefined;
      hold.add(topic);
      return topic.at(now)?.value;
    };
    const ask = (id: string, robot: Robot) => {
      if ((id === "every" || isOn(id)) && (OF_ALL.has(id) || robot === chosen)) for (const t of TOPICS[id]) message(robot, t);
    };
    const truth = isOn("truth") ? message(world.peek(), "/truth/world") : undefined;
    const bodies = new Map<string, any>((truth?.bodies ?? []).map((b: any) => [b.name, b]));
    drawn = [];
    const places = new Map<Robot, { turn: Pose2; belief?: Pose2 }>();
    for (const robot of players.peek()) {
      for (const id of Object.keys(TOPICS)) ask(id, robot);
      const turn = robot.team === 1 ? HALF_TURN : HERE;
      const pose = message(robot, "/pose");
      places.set(robot, { turn, belief: pose ? times(turn, pose2(pose.pose.pose)) : undefined });
    }
    // below the robots: plans and beliefs
    for (const robot of players.peek()) {
      const { turn, belief } = places.get(robot)!;
      const tint = teamColour(robot.team);
      if (belief && isOn("paths")) {
        const path = message(robot, "/path");
        const odometry = message(robot, "/odometry");
        const strong = robot === chosen;
        pen.strokeStyle = faded(tint, strong ? 0.95 : 0.45);
        pen.lineWidth = strong ? 2 : 1.2;
        if (path?.poses.length > 1 && odometry && path.header.frame_id === "odom") {
          const odom = times(belief, inverse(pose2(odometry.pose.pose)));
          line(path.poses.map((p: any) => place(odom, p.pose.position.x, p.pose.position.y)));
          const end = path.poses[path.poses.length - 1].pose.position;
          const [x, y] = place(odom, end.x, end.y);
          disc(x, y, 3 / scale);
          pen.stroke();
        }
      }
      if (isOn("team") && robot !== undefined) {
        const ball = message(robot, "/team_ball");
        if (ball?.source && ball.ball.valid) {
          const [x, y] = place(turn, ball.ball.position.x, ball.ball.position.y);
          pen.strokeStyle = faded(tint, 0.7);
          pen.lineWidth = 1.2;
          pen.setLineDash([3, 3]);
          disc(x, y, 0.11);
          pen.stroke();
          pen.setLineDash([]);
        }
      }
    }
    const own = chosen && places.get(chosen);
    if (chosen && own) drawChosen(chosen, own.turn, own.belief, message);
    // robots
    for (const robot of players.peek()) {
      const { belief } = places.get(robot)!;
      const body = bodies.get(robot.name);
      const hcm = message(robot, "/hcm_state");
      const state = message(robot, "/match_state");
      const fallen = body ? body.fallen : hcm?.state === 2 || hcm?.state === 1;
      const real = body ? pose2(body.pose) : undefined;
      if (belief && isOn("poses")) {
        const c = message(robot, "/pose").pose.covariance;
        oval(belief.x, belief.y, robot.team === 1 ? Math.PI : 0, c[0], c[1], c[7]);
        pen.fillStyle = faded(teamColour(robot.team), 0.14);
        pen.strokeStyle = faded(teamColour(robot.team), 0.6);
        pen.lineWidth = 1;
        pen.fill();
        pen.stroke();
        if (real && Math.hypot(real.x - belief.x, real.y - belief.y) > 0.05) {
          pen.strokeStyle = faded(teamColour(robot.team), 0.5);
          pen.setLineDash([2, 3]);
          line([
            [real.x, real.y],
            [belief.x, belief.y],
          ]);
          pen.setLineDash([]);
        }
        if (real) shirt(belief, robot, false, false, false);
      }
      const at = real ?? (isOn("poses") ? belief : undefined);
      if (!at) continue;
      shirt(at, robot, true, !!fallen, !!state?.penalized || robot.connection.peek() === "lost");
      drawn.push({ robot, name: robot.name, x: at.x, y: at.y, a: at.a });
    }
    const ball = bodies.get("ball");
    if (ball) {
      drawBall(ball.pose.position.x, ball.pose.position.y, true);
      drawn.push({ name: "ball", x: ball.pose.position.x, y: ball.pose.position.y, a: 0 });
    }
    hands.hidden = !world.peek();
    if (drag?.body && drag.moved) {
      pen.strokeStyle = colour("text");
      pen.lineWidth = 2;
      pen.setLineDash(drag.how === "push" ? [] : [4, 4]);
      line([[drag.body.x, drag.body.y], pointer]);
      pen.setLineDash([]);
      disc(pointer[0], pointer[1], drag.how === "push" ? 0.06 : 0.16);
      pen.stroke();
    }
    ctx.keepOnly(hold);
    canvas.dataset.robots = String(drawn.filter((d) => d.robot).length);
    canvas.dataset.ms = (performance.now() - started).toFixed(2);
  }
  function drawBall(x: number, y: number, solid: boolean) {
    disc(x, y, Math.max(0.08, 4.5 / scale));
    if (solid) {
      pen.fillStyle = colour("ball");
      pen.fill();
      pen.strokeStyle = faded("#000000", 0.5);
      pen.lineWidth = 1;
    } else {
      pen.strokeStyle = colour("ball");
      pen.lineWidth = 2;
    }
    pen.stroke();
  }
  const kindTint = (kind: number) => colour(kind === 1 ? "ball" : kind >= 8 ? "bad" : "accent");
  // A cloud of observations that is narrow shows particles that agree with the field.
  function drawSeen(robot: Robot, turn: Pose2, message: (r: Robot, n: string) => any) {
    const h = message(robot, "/pose_hypotheses");
    const located = (message(robot, "/percepts")?.percepts ?? []).filter((p: any) => p.located);
    const segments = message(robot, "/line_relative")?.segments ?? [];
    const from: any[] = h?.particles.length ? h.particles : (h?.hypotheses ?? []).map((p: any) => p.pose);
    const alpha = Math.min(0.7, 0.15 + 4 / Math.max(from.length, 1));
    for (const p of from) {
      const at = times(turn, { x: p.x, y: p.y, a: p.theta });
      for (const o of located) {
        pen.fillStyle = faded(kindTint(o.kind), alpha);
        const [u, v] = toScreen(...place(at, o.position.x, o.position.y));
        pen.fillRect(u - 1, v - 1, 2, 2);
      }
      pen.strokeStyle = faded(colour("accent"), alpha);
      pen.lineWidth = 1;
      for (const s of segments) line([place(at, s.start.x, s.start.y), place(at, s.end.x, s.end.y)]);
    }
    canvas.dataset.seen = String(from.length * (located.length + segments.length));
  }
  function drawChosen(robot: Robot, turn: Pose2, belief: Pose2 | undefined, message: (r: Robot, n: string) => any) {
    const tint = teamColour(robot.team);
    if (isOn("seen")) drawSeen(robot, turn, message);
    if (isOn("particles")) {
      const h = message(robot, "/pose_hypotheses");
      for (const p of h?.particles ?? []) {
        const at = times(turn, { x: p.x, y: p.y, a: p.theta });
        pen.strokeStyle = faded(tint, 0.5);
        pen.lineWidth = 1;
        line([
          [at.x, at.y],
          [at.x + 0.12 * Math.cos(at.a), at.y + 0.12 * Math.sin(at.a)],
        ]);
      }
      for (const p of h?.hypotheses ?? []) {
        const at = times(turn, { x: p.pose.x, y: p.pose.y, a: p.pose.theta });
        oval(at.x, at.y, turn.a, p.covariance[0], p.covariance[1], p.covariance[4]);
        pen.strokeStyle = faded(tint, 0.25 + 0.7 * p.weight);
        pen.lineWidth = 1.5;
        pen.stroke();
      }
    }
    if (isOn("plan")) {
      const plan = message(robot, "/strategy_plan");
      plan?.positions.forEach((p: any, i: number) => {
        const [x, y] = place(turn, p.x, p.y);
        const [u, v] = toScreen(x, y);
        pen.strokeStyle = faded(tint, 0.8);
        pen.lineWidth = 1.2;
        pen.strokeRect(u - 5, v - 5, 10, 10);
        pen.fillStyle = colour("paint");
        pen.font = "10px system-ui, sans-serif";
        pen.textAlign = "left";
        pen.textBaseline = "alphabetic";
        pen.fillText(String(plan.players[i]), u + 8, v + 4);
      });
    }
    if (isOn("beliefs")) {
      for (const mate of message(robot, "/team_state")?.mates ?? []) {
        const m = mate.message;
        const at = times(turn, { x: m.pose.pose.x, y: m.pose.pose.y, a: m.pose.pose.theta });
        pen.globalAlpha = mate.alive ? 1 : 0.4;
        pen.strokeStyle = tint;
        pen.lineWidth = 1.2;
        pen.setLineDash([2, 2]);
        disc(at.x, at.y, 0.22);
        pen.stroke();
        if (m.ball_known) {
          const [x, y] = place(turn, m.ball.x, m.ball.y);
          pen.strokeStyle = faded(colour("ball"), 0.7);
          line([
            [at.x, at.y],
            [x, y],
          ]);
          disc(x, y, 0.09);
          pen.stroke();
        }
        pen.setLineDash([]);
        pen.globalAlpha = 1;
      }
    }
    if (!belief) return;
    if (isOn("percepts")) {
      for (const p of message(robot, "/percepts")?.percepts ?? []) {
        if (!p.located) continue;
        const [x, y] = place(belief, p.position.x, p.position.y);
        const [u, v] = toScreen(x, y);
        pen.strokeStyle = kindTint(p.kind);
        pen.lineWidth = 1.5;
        pen.beginPath();
        pen.moveTo(u - 4, v - 4);
        pen.lineTo(u + 4, v + 4);
        pen.moveTo(u - 4, v + 4);
        pen.lineTo(u + 4, v - 4);
        pen.stroke();
      }
      for (const s of message(robot, "/line_relative")?.segments ?? []) {
        pen.strokeStyle = faded(colour("accent"), 0.9);
        line([place(belief, s.start.x, s.start.y), place(belief, s.end.x, s.end.y)]);
      }
    }
    if (isOn("obstacles"))
      for (const o of message(robot, "/obstacles")?.obstacles ?? []) {
        const [x, y] = place(belief, o.position.x, o.position.y);
        disc(x, y, Math.max(o.radius, 0.08));
        pen.strokeStyle = faded(colour("paint"), 0.25 + 0.6 * Math.min(o.confidence, 1));
        pen.lineWidth = 1.2;
        pen.setLineDash([4, 3]);
        pen.stroke();
        pen.setLineDash([]);
      }
    if (isOn("ball")) {
      const ball = message(robot, "/ball");
      if (ball?.valid) {
        const [x, y] = place(belief, ball.position.x, ball.position.y);
        const [dx, dy] = place(belief, ball.destination.x, ball.destination.y);
        oval(x, y, belief.a, ball.covariance[0], ball.covariance[1], ball.covariance[5]);
        pen.fillStyle = faded(colour("ball"), 0.12);
        pen.fill();
        if (Math.hypot(dx - x, dy - y) > 0.1) {
          pen.strokeStyle = faded(colour("ball"), 0.7);
          pen.lineWidth = 1.5;
          pen.setLineDash([5, 4]);
          line([
            [x, y],
            [dx, dy],
          ]);
          pen.setLineDash([]);
          disc(dx, dy, 0.05);
          pen.stroke();
        }
        drawBall(x, y, false);
      }
    }
  }
  ctx.onFrame(draw);
}

panel({ id: "map", title: "Field", about: "where everybody is, believes to be and goes", group: "match", mount });
