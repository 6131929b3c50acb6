// Shapes that modules ask for (visualization_msgs/Marker and MarkerArray), of any topic.
import {
  ArrowHelper,
  BoxGeometry,
  BufferGeometry,
  CanvasTexture,
  Color,
  CylinderGeometry,
  DoubleSide,
  Float32BufferAttribute,
  Group,
  Line,
  LineBasicMaterial,
  LineSegments,
  Mesh,
  MeshLambertMaterial,
  type Object3D,
  Points,
  PointsMaterial,
  SphereGeometry,
  Sprite,
  SpriteMaterial,
  Vector3,
} from "three";
import type { Robot, Topic } from "../data/robot";

const DELETE = 2;
const DELETE_ALL = 3;
const at = (p: any) => new Vector3(p.x, p.y, p.z);
const tint = (c: any) => new Color(c.r, c.g, c.b);
const flat = (m: any) => new LineBasicMaterial({ color: m.colors.length ? 0xffffff : tint(m.color), vertexColors: m.colors.length > 0, transparent: m.color.a < 1, opacity: m.color.a });
const solid = (m: any, c = m.color) => new MeshLambertMaterial({ color: tint(c), transparent: c.a < 1, opacity: c.a, side: DoubleSide });
function points(m: any): BufferGeometry {
  const g = new BufferGeometry().setFromPoints(m.points.map(at));
  if (m.colors.length === m.points.length && m.colors.length) g.setAttribute("color", new Float32BufferAttribute(m.colors.flatMap((c: any) => [c.r, c.g, c.b]), 3));
  return g;
}
const many = (m: any, make: () => BufferGeometry): Object3D => {
  const group = new Group();
  const shape = make();
  m.points.forEach((p: any, i: number) => {
    const one = new Mesh(shape, solid(m, m.colors[i] ?? m.color));
    one.position.copy(at(p));
    group.add(one);
  });
  return group;
};
const arrow = (from: Vector3, to: Vector3, m: any) => {
  const way = to.clone().sub(from);
  const length = Math.max(way.length(), 1e-3);
  return new ArrowHelper(way.normalize(), from, length, tint(m.color).getHex(), length * 0.25, length * 0.12);
};
function sign(m: any): Object3D {
  const canvas = document.createElement("canvas");
  const pen = canvas.getContext("2d")!;
  const font = "48px system-ui, sans-serif";
  pen.font = font;
  canvas.width = Math.ceil(pen.measureText(m.text).width) + 8;
  canvas.height = 60;
  pen.font = font;
  pen.fillStyle = `#${tint(m.color).getHexString()}`;
  pen.fillText(m.text, 4, 46);
  const sprite = new Sprite(new SpriteMaterial({ map: new CanvasTexture(canvas) }));
  const height = m.scale.z || 0.1;
  sprite.scale.set((height * canvas.width) / canvas.height, height, 1);
  return sprite;
}
// By the number of the type.
const shapes: ((m: any) => Object3D)[] = [
  (m) => (m.points.length > 1 ? arrow(at(m.points[0]), at(m.points[1]), m) : arrow(new Vector3(), new Vector3(m.scale.x, 0, 0), m)),
  (m) => new Mesh(new BoxGeometry(m.scale.x, m.scale.y, m.scale.z), solid(m)),
  (m) => new Mesh(new SphereGeometry(0.5, 20, 12).scale(m.scale.x, m.scale.y, m.scale.z), solid(m)),
  (m) => new Mesh(new CylinderGeometry(0.5, 0.5, 1, 24).rotateX(Math.PI / 2).scale(m.scale.x, m.scale.y, m.scale.z), solid(m)),
  (m) => new Line(points(m), flat(m)),
  (m) => new LineSegments(points(m), flat(m)),
  (m) => many(m, () => new BoxGeometry(m.scale.x, m.scale.y, m.scale.z)),
  (m) => many(m, () => new SphereGeometry(0.5, 12, 8).scale(m.scale.x, m.scale.y, m.scale.z)),
  (m) => new Points(points(m), new PointsMaterial({ color: m.colors.length ? 0xffffff : tint(m.color), vertexColors: m.colors.length > 0, size: m.scale.x || 0.02 })),
  sign,
  () => new Group(), // a mesh: the robot's own description has those
  (m) => {
    const g = points(m);
    g.computeVertexNormals();
    return new Mesh(g, solid(m));
  },
  (m) => {
    const group = new Group();
    for (let i = 1; i < m.points.length; i++) group.add(arrow(at(m.points[i - 1]), at(m.points[i]), m));
    return group;
  },
];

interface Shown {
  frame: string;
  object: Object3D;
  until: number; // s
}
export class Markers {
  private seen = new Map<Topic, number>(); // s, read until
  private shown = new Map<string, Shown>(); // by topic, namespace and number
  // `frame`: what carries the things of a frame. `hold` gets the topics that are read.
  update(robot: Robot, now: number, hold: (topic: Topic) => void, frame: (name: string) => Object3D) {
    for (const topic of robot.topics.peek().values()) {
      if (!/visualization_msgs\/(msg\/)?Marker(Array)?$/.test(topic.type)) continue;
      hold(topic);
      let from = this.seen.get(topic) ?? -Infinity;
      if (now < from) {
        // time went back: all is read again
        this.drop((key) => key.startsWith(topic.name));
        from = -Infinity;
      }
      let last = from;
      topic.each(from, now, (time, m) => {
        last = time;
        for (const marker of m.markers ?? [m]) this.take(topic.name, marker, time, frame);
      });
      this.seen.set(topic, last);
    }
    this.drop((_key, s) => s.until < now);
  }
  private take(topic: string, m: any, time: number, frame: (name: string) => Object3D) {
    const key = `${topic} ${m.ns} ${m.id}`;
    if (m.action === DELETE_ALL) return this.drop((k) => k.startsWith(`${topic} `));
    this.drop((k) => k === key);
    if (m.action === DELETE) return;
    const object = (shapes[m.type] ?? shapes[1])(m);
    const carrier = new Group();
    carrier.position.copy(at(m.pose.position));
    const o = m.pose.orientation;
    if (o.x || o.y || o.z || o.w) carrier.quaternion.set(o.x, o.y, o.z, o.w);
    carrier.add(object);
    frame(m.header.frame_id).add(carrier);
    const life = m.lifetime.sec + m.lifetime.nanosec * 1e-9;
    this.shown.set(key, { frame: m.header.frame_id, object: carrier, until: life > 0 ? time + life : Infinity });
  }
  drop(which: (key: string, shown: Shown) => boolean = () => true) {
    for (const [key, s] of this.shown) {
      if (!which(key, s)) continue;
      s.object.removeFromParent();
      s.object.traverse((o) => {
        (o as Mesh).geometry?.dispose();
        (o as Sprite).material?.map?.dispose();
      });
      this.shown.delete(key);
    }
  }
  get size() {
    return this.shown.size;
  }
}
