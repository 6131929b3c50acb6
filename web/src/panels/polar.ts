// What the robot has around itself, seen from above with the robot in the middle and its front upwards.
import type { Topic } from "../data/robot";
import { canvasOf, colour, faded } from "../ui/canvas";
import { type PanelContext, panel } from "../ui/panel";

function mount(ctx: PanelContext) {
  const { canvas, pen, fit } = canvasOf(ctx);
  let reach = ctx.settings.peek().reach ?? 5; // m
  canvas.addEventListener(
    "wheel",
    (e) => {
      e.preventDefault();
      reach = Math.min(Math.max(reach * Math.exp(e.deltaY * 0.0015), 0.5), 15);
      ctx.set({ reach });
    },
    { passive: false },
  );
  ctx.onFrame((now) => {
    const { width, height } = fit();
    const middle = [width / 2, height / 2];
    const scale = (Math.min(width, height) / 2 - 14) / reach;
    const at = (x: number, y: number): [number, number] => [middle[0] - y * scale, middle[1] - x * scale];
    pen.fillStyle = colour("panel");
    pen.fillRect(0, 0, width, height);
    pen.font = "11px system-ui, sans-serif";
    const step = reach > 6 ? 2 : reach > 2.5 ? 1 : 0.5;
    for (let r = step; r <= reach; r += step) {
      pen.strokeStyle = colour("line");
      pen.lineWidth = 1;
      pen.beginPath();
      pen.arc(middle[0], middle[1], r * scale, 0, 2 * Math.PI);
      pen.stroke();
      pen.fillStyle = colour("faint");
      pen.fillText(`${r} m`, middle[0] + 4, middle[1] - r * scale + 12);
    }
    for (let a = 0; a < 360; a += 30) {
      pen.beginPath();
      pen.moveTo(middle[0], middle[1]);
      pen.lineTo(...at(reach * Math.cos((a * Math.PI) / 180), reach * Math.sin((a * Math.PI) / 180)));
      pen.stroke();
    }
    const robot = ctx.robot;
    const hold = new Set<Topic>();
    const message = (name: string): any => {
      const topic = ctx.topic(robot, name);
      if (!topic) return undefined;
      hold.add(topic);
      const entry = topic.at(now);
      return entry && now - entry.time < 1 ? entry.value : undefined;
    };
    const lines = message("/line_relative");
    for (const s of lines?.segments ?? []) {
      pen.strokeStyle = faded(colour("text"), 0.35 + 0.5 * s.confidence);
      pen.lineWidth = 2;
      pen.beginPath();
      pen.moveTo(...at(s.start.x, s.start.y));
      pen.lineTo(...at(s.end.x, s.end.y));
      pen.stroke();
    }
    const border = message("/field_border");
    if (border?.points.length) {
      pen.strokeStyle = faded(colour("warn"), 0.6);
      pen.beginPath();
      border.points.forEach((p: any, i: number) => pen[i ? "lineTo" : "moveTo"](...at(p.x, p.y)));
      pen.stroke();
    }
    for (const o of message("/obstacles")?.obstacles ?? []) {
      const [u, v] = at(o.position.x, o.position.y);
      pen.strokeStyle = faded(colour(o.kind === 2 ? "good" : "bad"), 0.3 + 0.7 * o.confidence);
      pen.lineWidth = 1.5;
      pen.beginPath();
      pen.arc(u, v, Math.max(o.radius * scale, 3), 0, 2 * Math.PI);
      pen.stroke();
    }
    for (const p of message("/percepts")?.percepts ?? []) {
      if (!p.located) continue;
      const [u, v] = at(p.position.x, p.position.y);
      pen.fillStyle = p.kind === 1 ? colour("ball") : p.kind === 2 ? colour("accent") : p.kind >= 8 ? colour("bad") : colour("blue");
      pen.fillRect(u - 3, v - 3, 6, 6);
    }
    const ball = message("/ball");
    if (ball?.valid) {
      const [u, v] = at(ball.position.x, ball.position.y);
      pen.strokeStyle = colour("ball");
      pen.lineWidth = 2;
      pen.beginPath();
      pen.arc(u, v, Math.max(0.08 * scale, 5), 0, 2 * Math.PI);
      pen.stroke();
      pen.beginPath();
      pen.moveTo(u, v);
      pen.lineTo(...at(ball.position.x + ball.velocity.x, ball.position.y + ball.velocity.y));
      pen.stroke();
    }
    pen.fillStyle = colour("text");
    pen.beginPath();
    pen.moveTo(...at(0.25, 0));
    pen.lineTo(...at(-0.12, 0.14));
    pen.lineTo(...at(-0.12, -0.14));
    pen.closePath();
    pen.fill();
    if (!hold.size) {
      pen.fillStyle = colour("faint");
      pen.fillText(robot ? `${robot.name} sees nothing` : "no robot yet", 12, 20);
    }
    ctx.keepOnly(hold);
  });
}
panel({ id: "polar", title: "Around", about: "what the robot has around itself", group: "robot", mount });
