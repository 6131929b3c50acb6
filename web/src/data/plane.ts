// Poses on the ground, and the field.
import type { Robot } from "./robot";

export interface Pose2 {
  x: number;
  y: number;
  a: number; // rad
}
export const yawOf = (q: { x: number; y: number; z: number; w: number }) => Math.atan2(2 * (q.w * q.z + q.x * q.y), 1 - 2 * (q.y * q.y + q.z * q.z));
export const pose2 = (pose: any): Pose2 => ({ x: pose.position.x, y: pose.position.y, a: yawOf(pose.orientation) });
export function times(p: Pose2, q: Pose2): Pose2 {
  const c = Math.cos(p.a);
  const s = Math.sin(p.a);
  return { x: p.x + c * q.x - s * q.y, y: p.y + s * q.x + c * q.y, a: p.a + q.a };
}
export function inverse(p: Pose2): Pose2 {
  const c = Math.cos(p.a);
  const s = Math.sin(p.a);
  return { x: -c * p.x - s * p.y, y: s * p.x - c * p.y, a: -p.a };
}
export const place = (p: Pose2, x: number, y: number): [number, number] => {
  const c = Math.cos(p.a);
  const s = Math.sin(p.a);
  return [p.x + c * x - s * y, p.y + s * x + c * y];
};
export const HERE: Pose2 = { x: 0, y: 0, a: 0 };
export const HALF_TURN: Pose2 = { x: 0, y: 0, a: Math.PI };

// An ellipse of two standard deviations from a 2x2 covariance: half axes and the angle of the first.
export function ellipse(xx: number, xy: number, yy: number): { a: number; b: number; angle: number } {
  const mean = (xx + yy) / 2;
  const d = Math.hypot((xx - yy) / 2, xy);
  return { a: 2 * Math.sqrt(Math.max(mean + d, 0)), b: 2 * Math.sqrt(Math.max(mean - d, 0)), angle: 0.5 * Math.atan2(2 * xy, xx - yy) };
}

// The field, m. The modules of a match have its lengths as parameters; the kid-size field otherwise.
const kid = {
  field_length: 9, field_width: 6, line_width: 0.05, goal_area_length: 1, goal_area_width: 3, penalty_area_length: 2, penalty_area_width: 5,
  penalty_mark: 1.5, circle_radius: 0.75, goal_width: 2.6, goal_depth: 0.6, border: 1,
};
export type Field = typeof kid;
const AROUND = Array.from({ length: 49 }, (_, i) => (i * Math.PI) / 24);
// The painted lines of a field as outlines, and its marks.
export function paintOf(f: Field): { lines: [number, number][][]; spots: [number, number][] } {
  const [l, w] = [f.field_length / 2, f.field_width / 2];
  const box = (x0: number, x1: number, y: number): [number, number][] => [[x0, -y], [x1, -y], [x1, y], [x0, y], [x0, -y]];
  const lines: [number, number][][] = [box(-l, l, w), [[0, -w], [0, w]], AROUND.map((a) => [f.circle_radius * Math.cos(a), f.circle_radius * Math.sin(a)])];
  for (const side of [-1, 1]) lines.push(box(side * l, side * (l - f.goal_area_length), f.goal_area_width / 2), box(side * l, side * (l - f.penalty_area_length), f.penalty_area_width / 2));
  return { lines, spots: [[0, 0], [f.penalty_mark - l, 0], [l - f.penalty_mark, 0]] };
}
export function fieldOf(robots: Robot[]): Field {
  for (const robot of robots)
    for (const [name, parameter] of robot.parameters.peek())
      if (name.endsWith(".field_length")) {
        const instance = name.slice(0, -"field_length".length);
        const field = { ...kid, field_length: Number(parameter.value) };
        for (const key of Object.keys(kid) as (keyof Field)[]) {
          const value = robot.parameters.peek().get(instance + key)?.value;
          if (typeof value === "number") field[key] = value;
        }
        return field;
      }
  return kid;
}
