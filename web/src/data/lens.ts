// Poses in space, and how a camera turns places into pixels (sensor_msgs/CameraInfo).

export type V3 = [number, number, number];
export interface Pose3 {
  q: [number, number, number, number]; // x, y, z, w
  p: V3; // m
}
export function turn([x, y, z, w]: Pose3["q"], v: V3): V3 {
  const [tx, ty, tz] = [2 * (y * v[2] - z * v[1]), 2 * (z * v[0] - x * v[2]), 2 * (x * v[1] - y * v[0])];
  return [v[0] + w * tx + y * tz - z * ty, v[1] + w * ty + z * tx - x * tz, v[2] + w * tz + x * ty - y * tx];
}
const add = (a: V3, b: V3): V3 => [a[0] + b[0], a[1] + b[1], a[2] + b[2]];
export const apply = (a: Pose3, v: V3): V3 => add(turn(a.q, v), a.p);
export function compose(a: Pose3, b: Pose3): Pose3 {
  const [x, y, z, w] = a.q;
  const [u, v, r, s] = b.q;
  return { q: [w * u + x * s + y * r - z * v, w * v - x * r + y * s + z * u, w * r + x * v - y * u + z * s, w * s - x * u - y * v - z * r], p: apply(a, b.p) };
}
export function invert(a: Pose3): Pose3 {
  const q: Pose3["q"] = [-a.q[0], -a.q[1], -a.q[2], a.q[3]];
  const [x, y, z] = turn(q, a.p);
  return { q, p: [-x, -y, -z] };
}
// of geometry_msgs/Pose
export const pose3 = ({ position: p, orientation: o }: any): Pose3 => ({ q: [o.x, o.y, o.z, o.w], p: [p.x, p.y, p.z] });

export interface Pixel {
  x: number;
  y: number;
}
export type Lens = (v: V3) => Pixel | undefined; // of a place in the optical frame; undefined: behind, or far beside
export function lensOf(info: any): Lens {
  const [fx, , cx, , fy, cy] = info.k as number[];
  const d = info.d as number[];
  const fisheye = info.distortion_model === "equidistant";
  const edge = 1.5 * Math.hypot(info.width / fx, info.height / fy) * 0.5; // farther out the polynomial means nothing
  return ([x, y, z]) => {
    if (z < 0.01) return undefined;
    const [a, b] = [x / z, y / z];
    const r = Math.hypot(a, b);
    if (!fisheye && r > edge) return undefined;
    const r2 = r * r;
    if (fisheye) {
      const t = Math.atan(r);
      const t2 = t * t;
      const s = r > 1e-9 ? (t * (1 + t2 * (d[0] + t2 * (d[1] + t2 * (d[2] + t2 * d[3]))))) / r : 1;
      return { x: cx + fx * a * s, y: cy + fy * b * s };
    }
    const s = 1 + r2 * ((d[0] ?? 0) + r2 * ((d[1] ?? 0) + r2 * (d[4] ?? 0)));
    const [p1, p2] = [d[2] ?? 0, d[3] ?? 0];
    return { x: cx + fx * (a * s + 2 * p1 * a * b + p2 * (r2 + 2 * a * a)), y: cy + fy * (b * s + p1 * (r2 + 2 * b * b) + 2 * p2 * a * b) };
  };
}
// The horizon from left to right, of a camera whose pose is in a level frame.
export function horizon(camera: Pose3, lens: Lens): (Pixel | undefined)[] {
  const back = invert({ q: camera.q, p: [0, 0, 0] });
  const ahead = turn(camera.q, [0, 0, 1]);
  const yaw = Math.atan2(ahead[1], ahead[0]);
  const list: (Pixel | undefined)[] = [];
  for (let a = 80; a >= -80; a -= 2) list.push(lens(apply(back, [Math.cos(yaw + (a * Math.PI) / 180), Math.sin(yaw + (a * Math.PI) / 180), 0])));
  return list;
}
