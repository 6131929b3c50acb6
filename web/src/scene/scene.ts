// The match in three dimensions: field, ball, and every robot from its own description with its own joints. A robot stands
// where it really is in simulation, otherwise where it believes to be.
import {
  AmbientLight,
  AxesHelper,
  BoxGeometry,
  BufferGeometry,
  CanvasTexture,
  Color,
  CylinderGeometry,
  DirectionalLight,
  DoubleSide,
  Group,
  HemisphereLight,
  Line,
  LineBasicMaterial,
  Mesh,
  MeshBasicMaterial,
  MeshLambertMaterial,
  MeshPhongMaterial,
  type Object3D,
  PerspectiveCamera,
  PlaneGeometry,
  Quaternion,
  RingGeometry,
  Scene,
  SphereGeometry,
  Sprite,
  SpriteMaterial,
  SRGBColorSpace,
  Vector2,
  Vector3,
  WebGLRenderer,
} from "three";
import { OrbitControls } from "three/examples/jsm/controls/OrbitControls.js";
import { STLLoader } from "three/examples/jsm/loaders/STLLoader.js";
import URDFLoader, { type URDFRobot } from "urdf-loader";
import { changed, players, slowDown, world } from "../data/clock";
import { type Field, fieldOf, HALF_TURN, HERE, paintOf, pose2, times, yawOf } from "../data/plane";
import type { Robot, Topic } from "../data/robot";
import { followed } from "../data/session";
import { colour, teamColour } from "../ui/canvas";
import type { PanelContext } from "../ui/panel";
import { numberOf } from "../panels/map";
import { Markers } from "./markers";

// The ground with its lines, drawn once.
function fieldTexture(f: Field, pixels: number): CanvasTexture {
  const canvas = document.createElement("canvas");
  const [length, width] = [f.field_length + 2 * f.border, f.field_width + 2 * f.border];
  canvas.width = Math.round(length * pixels);
  canvas.height = Math.round(width * pixels);
  const pen = canvas.getContext("2d")!;
  pen.fillStyle = colour("field");
  pen.fillRect(0, 0, canvas.width, canvas.height);
  pen.setTransform(pixels, 0, 0, -pixels, canvas.width / 2, canvas.height / 2);
  pen.strokeStyle = pen.fillStyle = colour("paint");
  pen.lineWidth = f.line_width;
  const paint = paintOf(f);
  pen.beginPath();
  for (const outline of paint.lines) outline.forEach(([x, y], i) => pen[i ? "lineTo" : "moveTo"](x, y));
  pen.stroke();
  pen.beginPath();
  for (const [x, y] of paint.spots) {
    pen.moveTo(x, y);
    pen.arc(x, y, 0.06, 0, 2 * Math.PI);
  }
  pen.fill();
  const texture = new CanvasTexture(canvas);
  texture.colorSpace = SRGBColorSpace;
  texture.anisotropy = 4;
  return texture;
}

function makeGoal(f: Field, side: number, tint: string): Group {
  const group = new Group();
  const material = new MeshLambertMaterial({ color: tint });
  const bar = (x: number, y: number, z: number, lx: number, ly: number, lz: number) => {
    const mesh = new Mesh(new BoxGeometry(lx, ly, lz), material);
    mesh.position.set(x, y, z);
    group.add(mesh);
  };
  const [l, w, height] = [f.field_length / 2, f.goal_width / 2, 1.2];
  for (const y of [-w, w]) {
    bar(side * l, y, height / 2, 0.1, 0.1, height);
    bar(side * (l + f.goal_depth / 2), y, 0.03, f.goal_depth, 0.05, 0.05);
  }
  bar(side * l, 0, height, 0.1, f.goal_width + 0.1, 0.1);
  bar(side * (l + f.goal_depth), 0, 0.03, 0.05, f.goal_width, 0.05);
  return group;
}

function label(text: string, tint: string): Sprite {
  const canvas = document.createElement("canvas");
  canvas.width = canvas.height = 64;
  const pen = canvas.getContext("2d")!;
  pen.fillStyle = tint;
  pen.beginPath();
  pen.arc(32, 32, 28, 0, 2 * Math.PI);
  pen.fill();
  pen.fillStyle = "#10151b";
  pen.font = "bold 36px system-ui, sans-serif";
  pen.textAlign = "center";
  pen.textBaseline = "middle";
  pen.fillText(text, 32, 34);
  const texture = new CanvasTexture(canvas);
  texture.colorSpace = SRGBColorSpace;
  const sprite = new Sprite(new SpriteMaterial({ map: texture, depthTest: false, sizeAttenuation: false }));
  sprite.scale.setScalar(0.035);
  return sprite;
}

class Body {
  readonly group = new Group();
  readonly ring: Mesh;
  private model?: URDFRobot;
  private axes?: Group;
  private height = 0; // m, of the base above the soles, standing
  constructor(readonly robot: Robot) {
    const tint = teamColour(robot.team);
    this.ring = new Mesh(new RingGeometry(0.2, 0.23, 40), new MeshBasicMaterial({ color: tint, side: DoubleSide }));
    this.tag = label(numberOf(robot.name), tint);
  }
  readonly tag: Sprite;
  // The description arrives once.
  load(text: string) {
    const loader = new URDFLoader();
    loader.parseCollision = false;
    loader.packages = (name: string) => `package://${name}`;
    loader.loadMeshCb = (path, _manager, material, done) => {
      this.robot
        .asset(path)
        .then((bytes) => done(new Mesh(new STLLoader().parse(bytes.slice().buffer), material ?? new MeshPhongMaterial())))
        .catch((error) => done(new Group(), error));
    };
    const model = loader.parse(text);
    const shirt = new Color(teamColour(this.robot.team));
    model.traverse((o: Object3D) => {
      const mesh = o as Mesh;
      if (!mesh.isMesh) return;
      const old = mesh.material as MeshPhongMaterial;
      const tinted = new MeshLambertMaterial({ color: (old.color ?? new Color("#888")).clone().lerp(shirt, 0.22) });
      mesh.material = tinted;
    });
    // the base's frame need not be that of the root, which may lie on the ground
    model.updateMatrixWorld(true);
    model.links.base_link?.matrixWorld.clone().invert().decompose(model.position, model.quaternion, model.scale);
    this.model = model;
    this.group.add(model);
    this.stand();
  }
  // How high the base is when the lowest part touches the ground.
  private stand() {
    if (!this.model) return;
    this.group.position.set(0, 0, 0);
    this.group.quaternion.identity();
    this.group.updateMatrixWorld(true);
    let lowest = 0;
    const corner = new Vector3();
    this.model.traverse((o: Object3D) => {
      const mesh = o as Mesh;
      if (!mesh.isMesh) return;
      mesh.geometry.computeBoundingBox();
      const b = mesh.geometry.boundingBox!;
      for (const x of [b.min.x, b.max.x])
        for (const y of [b.min.y, b.max.y])
          for (const z of [b.min.z, b.max.z]) lowest = Math.min(lowest, corner.set(x, y, z).applyMatrix4(mesh.matrixWorld).z);
    });
    this.height = -lowest;
  }
  get isLoaded() {
    return !!this.model;
  }
  joints(names: string[], positions: number[]) {
    for (let i = 0; i < names.length; i++) this.model?.setJointValue(names[i], positions[i]);
  }
  // `pose`: of the base in the field; `flat`: only the place on the ground is known.
  place(x: number, y: number, z: number | undefined, q: Quaternion) {
    this.group.position.set(x, y, z ?? this.height);
    this.group.quaternion.copy(q);
    this.ring.position.set(x, y, 0.006);
    this.tag.position.set(x, y, Math.max(this.group.position.z + 0.42, 0.5));
  }
  link(name: string): Object3D | undefined {
    return name === "base_link" ? this.group : this.model?.links[name];
  }
  showAxes(on: boolean) {
    if (on && !this.axes && this.model) {
      this.axes = new Group();
      for (const link of Object.values(this.model.links)) link.add(new AxesHelper(0.07));
    }
    if (this.model && this.axes) this.model.traverse((o) => o.type === "AxesHelper" && (o.visible = on));
  }
}

const CAMERAS = ["field", "robot", "ball"] as const;

export function mount(ctx: PanelContext) {
  // without a graphics card every frame costs a core: fewer and smaller ones
  const probe = document.createElement("canvas").getContext("webgl2");
  const named = probe?.getExtension("WEBGL_debug_renderer_info");
  const slow = /swiftshader|llvmpipe|software/i.test(named ? String(probe!.getParameter(named.UNMASKED_RENDERER_WEBGL)) : "");
  probe?.getExtension("WEBGL_lose_context")?.loseContext();
  if (slow) slowDown();
  let wait = slow ? 300 : 33; // ms between two frames
  const renderer = new WebGLRenderer({ antialias: !slow });
  renderer.setPixelRatio(slow ? 0.8 : Math.min(devicePixelRatio, 2));
  ctx.root.append(renderer.domElement);
  const chips = document.createElement("div");
  chips.className = "chips";
  ctx.root.append(chips);
  const buttons: [string, HTMLButtonElement][] = [];
  const chip = (id: string, title: string, act: () => void) => {
    const b = document.createElement("button");
    b.className = "chip";
    b.textContent = title;
    b.onclick = act;
    b.dataset.layer = id;
    chips.append(b);
    buttons.push([id, b]);
  };
  for (const c of CAMERAS) chip(c, `look at ${c === "robot" ? "robot" : c}`, () => ctx.set({ camera: c }));
  chip("frames", "frames", () => ctx.set({ frames: !ctx.settings.peek().frames }));
  chip("balance", "balance", () => ctx.set({ balance: !ctx.settings.peek().balance }));

  const scene = new Scene();
  const camera = new PerspectiveCamera(42, 1, 0.05, 80);
  camera.up.set(0, 0, 1);
  camera.position.set(0, -7.6, 5.2);
  const controls = new OrbitControls(camera, renderer.domElement);
  controls.enableDamping = false;
  controls.maxPolarAngle = Math.PI / 2 - 0.02;
  controls.minDistance = 0.4;
  controls.maxDistance = 25;
  controls.addEventListener("change", changed);
  scene.add(new HemisphereLight("#ffffff", "#445", 1.5), new AmbientLight("#ffffff", 0.35));
  const sun = new DirectionalLight("#ffffff", 1.6);
  sun.position.set(3, -4, 8);
  scene.add(sun);

  let fieldKey = "";
  const ground = new Group();
  scene.add(ground);
  function makeField() {
    const f = fieldOf(players.peek());
    const key = JSON.stringify(f) + colour("field") + !!world.peek();
    if (key === fieldKey) return;
    fieldKey = key;
    ground.clear();
    const plane = new Mesh(new PlaneGeometry(f.field_length + 2 * f.border, f.field_width + 2 * f.border), new MeshBasicMaterial({ map: fieldTexture(f, 100) }));
    ground.add(plane, makeGoal(f, -1, world.peek() ? teamColour(0) : "#eeeeee"), makeGoal(f, 1, world.peek() ? teamColour(1) : "#eeeeee"));
    scene.background = new Color(colour("carpet"));
  }
  const ball = new Mesh(new SphereGeometry(0.075, 24, 16), new MeshLambertMaterial({ color: colour("ball") }));
  ball.visible = false;
  scene.add(ball);
  const bodies = new Map<Robot, Body>();
  const marks = new Group(); // centre of mass, capture point, feet
  scene.add(marks);

  const markers = new Markers();
  let marked: Robot | undefined; // whose markers they are
  const inField = new Group(); // the field as the followed robot's team sees it
  const underFeet = new Group(); // base_footprint
  scene.add(inField, underFeet);

  let drawn = 0;
  let aimed = "";
  const quaternion = new Quaternion();
  const up = new Vector3(0, 0, 1);

  ctx.onClose(() => {
    controls.dispose();
    renderer.dispose();
    renderer.forceContextLoss();
  });
  ctx.onFrame((now) => {
    const at = performance.now();
    if (at - drawn < wait) return;
    drawn = at;
    const { width, height } = ctx.size.peek();
    const size = renderer.getSize(new Vector2());
    if (size.x !== Math.floor(width) || size.y !== Math.floor(height)) {
      renderer.setSize(Math.floor(width), Math.floor(height), true);
      camera.aspect = width / Math.max(height, 1);
      camera.updateProjectionMatrix();
    }
    makeField();
    const hold = new Set<Topic>();
    const message = (robot: Robot | undefined, name: string): any => {
      const topic = ctx.topic(robot, name);
      if (!topic) return undefined;
      hold.add(topic);
      return topic.at(now)?.value;
    };
    const settings = ctx.settings.peek();
    const mode = settings.camera ?? "field";
    for (const [id, b] of buttons) b.classList.toggle("on", id === mode || !!settings[id]);
    const truth = message(world.peek(), "/truth/world");
    const real = new Map<string, any>((truth?.bodies ?? []).map((b: any) => [b.name, b]));
    const all = players.peek();
    for (const [robot, body] of bodies)
      if (!all.includes(robot)) {
        scene.remove(body.group, body.ring, body.tag);
        bodies.delete(robot);
      }
    for (const robot of all) {
      let body = bodies.get(robot);
      if (!body) {
        body = new Body(robot);
        bodies.set(robot, body);
        scene.add(body.group, body.ring, body.tag);
      }
      if (!body.isLoaded) {
        const description = message(robot, "/robot_description");
        if (description) body.load(description.data);
      }
      const joints = message(robot, "/joint_states");
      if (joints) body.joints(joints.name, joints.position);
      const where = real.get(robot.name);
      const pose = where ? undefined : message(robot, "/pose");
      body.group.visible = body.ring.visible = body.tag.visible = !!(where || pose);
      if (where) {
        const o = where.pose.orientation;
        const flat = joints === undefined; // a disc on a plane: it stands upright
        body.place(where.pose.position.x, where.pose.position.y, flat ? undefined : where.pose.position.z, quaternion.set(o.x, o.y, o.z, o.w));
      } else if (pose) {
        const p = times(robot.team === 1 ? HALF_TURN : HERE, pose2(pose.pose.pose));
        const torso = message(robot, "/body_state")?.torso;
        quaternion.setFromAxisAngle(up, p.a);
        if (torso) quaternion.multiply(new Quaternion(torso.orientation.x, torso.orientation.y, torso.orientation.z, torso.orientation.w));
        body.place(p.x, p.y, torso?.position.z, quaternion);
      }
      const chosen = robot === followed.peek();
      (body.ring.material as MeshBasicMaterial).color.set(chosen ? colour("text") : teamColour(robot.team));
      body.showAxes(chosen && !!settings.frames);
    }
    marks.clear();
    const chosen = followed.peek();
    const chosenBody = chosen && bodies.get(chosen);
    if (settings.balance && chosen && chosenBody) drawBalance(message(chosen, "/body_state"), message(chosen, "/foot_pressure"), chosenBody);
    if (marked !== chosen) markers.drop();
    marked = chosen;
    if (chosen) {
      inField.rotation.z = chosen.team === 1 ? Math.PI : 0;
      if (chosenBody) {
        underFeet.position.set(chosenBody.group.position.x, chosenBody.group.position.y, 0);
        underFeet.rotation.z = yawOf(chosenBody.group.quaternion);
      }
      const topicOf = (topic: Topic) => void (ctx.topic(chosen, topic.name), hold.add(topic));
      markers.update(chosen, now, topicOf, (frame) => (frame === "base_footprint" ? underFeet : (chosenBody?.link(frame) ?? inField)));
    }
    const b = real.get("ball");
    ball.visible = !!b;
    if (b) ball.position.set(b.pose.position.x, b.pose.position.y, Math.max(b.pose.position.z, 0.07));
    aim(mode, chosenBody);
    controls.update();
    renderer.render(scene, camera);
    if (slow) {
      // reading a pixel waits until the frame is drawn; the page spends a small part of its time on it
      const gl = renderer.getContext();
      gl.readPixels(0, 0, 1, 1, gl.RGBA, gl.UNSIGNED_BYTE, new Uint8Array(4));
      drawn = performance.now();
      wait = Math.min(Math.max(300, 8 * (drawn - at)), 4000);
    }
    renderer.domElement.dataset.frames = String(Number(renderer.domElement.dataset.frames ?? 0) + 1);
    renderer.domElement.dataset.markers = String(markers.size);
    renderer.domElement.dataset.robots = String([...bodies.values()].filter((x) => x.isLoaded && x.group.visible).length);
    ctx.keepOnly(hold);
  });

  // Centre of mass on the ground, the capture point (where a step would bring the robot to rest), and the centre of pressure.
  function drawBalance(state: any, feet: any, body: Body) {
    if (!state) return;
    const yaw = yawOf(body.group.quaternion);
    const torso = new Vector3(state.torso.position.x, state.torso.position.y, 0).applyAxisAngle(up, yaw);
    const toField = (x: number, y: number) => new Vector3(x, y, 0).applyAxisAngle(up, yaw).sub(torso).add(new Vector3(body.group.position.x, body.group.position.y, 0.01));
    const spot = (x: number, y: number, tint: string, r: number) => {
      const disc = new Mesh(new CylinderGeometry(r, r, 0.004, 20), new MeshBasicMaterial({ color: tint }));
      disc.rotateX(Math.PI / 2);
      disc.position.copy(toField(x, y));
      marks.add(disc);
    };
    const c = state.center_of_mass;
    const v = state.center_of_mass_velocity;
    const omega = Math.sqrt(9.81 / Math.max(c.z, 0.1));
    spot(c.x, c.y, colour("good"), 0.018);
    spot(c.x + v.x / omega, c.y + v.y / omega, colour("warn"), 0.018);
    const line = new Line(
      new BufferGeometry().setFromPoints([toField(c.x, c.y), toField(c.x + v.x / omega, c.y + v.y / omega)]),
      new LineBasicMaterial({ color: colour("warn") }),
    );
    marks.add(line);
    if (feet)
      for (const side of ["left", "right"] as const) {
        const sole = state[`${side}_sole`];
        if (!feet[side].valid) continue;
        spot(sole.position.x + feet[side].center.x, sole.position.y + feet[side].center.y, colour("blue"), 0.006 + 0.03 * Math.min(feet[side].force / 60, 1));
      }
  }
  // The camera keeps its place around what it looks at.
  function aim(mode: string, body: Body | undefined) {
    const target = mode === "robot" && body ? body.group.position : mode === "ball" && ball.visible ? ball.position : new Vector3(0, 0, 0);
    if (aimed !== mode) {
      aimed = mode;
      const offset = mode === "field" ? new Vector3(0, -7.6, 5.2).multiplyScalar(Math.max(1, 1.65 / camera.aspect)) : mode === "robot" ? new Vector3(0.9, -1.5, 0.6) : new Vector3(0, -2.6, 1.6);
      camera.position.copy(target).add(offset);
      controls.target.copy(target);
    } else if (mode !== "field") {
      camera.position.add(target.clone().sub(controls.target));
      controls.target.copy(target);
    }
  }
}
