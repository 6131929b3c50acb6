// Every operation of the Foxglove WebSocket protocol, with @foxglove/ws-protocol as the client, against line-ups at play.
//   node foxglove.mjs NUTMEG ROOT
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { connect } from "node:net";
import { tmpdir } from "node:os";
import { parse } from "@foxglove/rosmsg";
import { MessageReader, MessageWriter } from "@foxglove/rosmsg2-serialization";
import protocol from "@foxglove/ws-protocol";
import WebSocket from "ws";

const [nutmeg, root] = process.argv.slice(2);
const token = "interop-token";
const folder = mkdtempSync(`${tmpdir()}/foxglove-`);
writeFileSync(`${folder}/token`, `${token}\n`, { mode: 0o600 });
process.on("exit", () => rmSync(folder, { recursive: true }));
const patience = 20000; // ms; a machine may be busy
let players = 0;

async function play(lineup, ...flags) {
  const name = `foxglove_${process.pid}_${players++}`;
  const child = spawn(nutmeg, ["run", lineup, "--name", name, "--live", "0", "--live-token-file", `${folder}/token`, ...flags], { cwd: root });
  let said = "";
  const port = await new Promise((resolve, reject) => {
    const hear = (bytes) => {
      said += bytes;
      const found = /live at http:\/\/127\.0\.0\.1:(\d+)\//.exec(said);
      if (found) resolve(Number(found[1]));
    };
    child.stdout.on("data", hear);
    child.stderr.on("data", hear);
    child.on("exit", (code) => reject(new Error(`${lineup} ended with ${code}: ${said}`)));
  });
  return { port, end: () => new Promise((r) => (child.removeAllListeners("exit"), child.on("exit", r), child.kill("SIGTERM"))) };
}

// A client that remembers what it was told, and waits for more.
class Peer {
  constructor(port, { path = `/?token=${token}`, sub = "foxglove.websocket.v1", headers = {} } = {}) {
    this.ws = new WebSocket(`ws://127.0.0.1:${port}${path}`, sub === null ? [] : [sub], { headers });
    this.client = new protocol.FoxgloveClient({ ws: this.ws });
    this.heard = [];
    this.waiting = [];
    const events = ["open", "error", "close", "serverInfo", "status", "removeStatus", "message", "time", "advertise",
      "advertiseServices", "parameterValues", "serviceCallResponse", "connectionGraphUpdate", "fetchAssetResponse", "serviceCallFailure"];
    for (const name of events) this.client.on(name, (event) => this.#hear({ name, event }));
  }
  #hear(entry) {
    this.heard.push(entry);
    this.waiting = this.waiting.filter((w) => !w(entry));
  }
  // the next event of a name that `is` accepts; earlier ones count where `all` is set
  next(name, is = () => true, all = false) {
    const found = all && this.heard.find((e) => e.name === name && is(e.event));
    if (found) return Promise.resolve(found.event);
    return new Promise((resolve, reject) => {
      const timer = setTimeout(() => reject(new Error(`no ${name} came; heard ${JSON.stringify(this.heard.slice(-4))}`)), patience);
      this.waiting.push((e) => e.name === name && is(e.event) && (clearTimeout(timer), resolve(e.event), true));
    });
  }
  async greeted() {
    this.info = await this.next("serverInfo", undefined, true);
    this.channels = await this.next("advertise", undefined, true);
    return this;
  }
  channel(topic) {
    const all = this.heard.filter((e) => e.name === "advertise").flatMap((e) => e.event);
    const found = all.find((c) => c.topic === topic);
    assert(found, `no channel ${topic}`);
    return found;
  }
  close() {
    const closed = this.next("close", undefined, true);
    this.client.close();
    return closed;
  }
}

const reader = (channel) => new MessageReader(parse(channel.schema, { ros2: true }));
const writer = (schema) => new MessageWriter(parse(schema, { ros2: true }));
const bytes = (view) => new Uint8Array(view.buffer, view.byteOffset, view.byteLength);
const number = (values, name) => values.parameters.find((p) => p.name === name)?.value;

async function greeting(port) {
  for (const sub of ["foxglove.websocket.v1", "foxglove.sdk.v1"]) {
    const peer = await new Peer(port, { sub }).greeted();
    assert.equal(peer.ws.protocol, sub);
    assert.deepEqual(peer.info.capabilities.sort(), ["assets", "clientPublish", "connectionGraph", "parameters", "parametersSubscribe", "services"]);
    assert.deepEqual(peer.info.supportedEncodings, ["cdr", "json"]);
    assert.match(peer.info.sessionId, /^[0-9a-f]{16}$/);
    for (const channel of peer.channels) {
      assert.equal(channel.encoding, "cdr");
      assert.equal(channel.schemaEncoding, "ros2msg");
      assert(parse(channel.schema, { ros2: true }).length > 0, channel.topic);
    }
    await peer.close();
  }
  const without = new Peer(port, { sub: null });
  await without.next("error");
}

async function messages(port) {
  const peer = await new Peer(port).greeted();
  const channel = peer.channel("/ball"), read = reader(channel);
  const id = peer.client.subscribe(channel.id);
  let last = 0n, seen = 0;
  while (seen < 20) {
    const message = await peer.next("message", (m) => m.subscriptionId === id);
    assert(message.timestamp >= last, "time runs backwards");
    last = message.timestamp;
    const ball = read.readMessage(bytes(message.data));
    assert.equal(typeof ball.position.x, "number");
    seen++;
  }
  assert(Math.abs(Number(last / 1000000n) - Date.now()) < 60000, "messages carry the time of day");
  peer.client.subscribe(channel.id); // twice the same channel
  await peer.next("status", (s) => s.level === 1 && s.message.includes("already subscribed to /ball"));
  peer.client.subscribe(99999);
  await peer.next("status", (s) => s.level === 2 && s.message.includes("no channel 99999"));
  peer.client.unsubscribe(id);
  peer.client.unsubscribe(77);
  await peer.next("status", (s) => s.message.includes("no subscription 77"));
  const count = peer.heard.filter((e) => e.name === "message").length;
  peer.client.getParameters([], "fence");
  await peer.next("parameterValues", (v) => v.id === "fence");
  assert.equal(peer.heard.filter((e) => e.name === "message").length, count, "messages after unsubscribe");
  await peer.close();
}

async function parameters(port) {
  const peer = await new Peer(port).greeted(), other = await new Peer(port, { path: "/" }).greeted();
  peer.client.getParameters([], "all");
  const all = await peer.next("parameterValues", (v) => v.id === "all");
  assert(all.parameters.length > 5);
  assert.equal(number(all, "ball_filter.friction"), 0.4);
  other.client.subscribeParameterUpdates(["ball_filter.friction"]);
  other.client.getParameters(["ball_filter.friction"], "fence");
  await other.next("parameterValues", (v) => v.id === "fence");
  const told = other.next("parameterValues", (v) => v.id === undefined);
  peer.client.setParameters([{ name: "ball_filter.friction", value: 0.75, type: "float64" }], "set");
  const answer = await peer.next("parameterValues", (v) => v.id === "set");
  assert.equal(number(answer, "ball_filter.friction"), 0.75);
  assert.equal(number(await told, "ball_filter.friction"), 0.75);

  const refusal = peer.next("status", (s) => s.level === 2 && s.message.includes("99 is outside 0 "));
  peer.client.setParameters([{ name: "ball_filter.forget", value: 5 }, { name: "ball_filter.friction", value: 99 }], "bad");
  const kept = await peer.next("parameterValues", (v) => v.id === "bad");
  await refusal;
  assert.equal(number(kept, "ball_filter.friction"), 0.75);
  assert.equal(number(kept, "ball_filter.forget"), 3, "a set is applied whole or not at all");
  const near = peer.next("status", (s) => s.message.includes("did you mean 'ball_filter.friction'"));
  peer.client.setParameters([{ name: "ball_filter.frictoin", value: 1 }]);
  await near;
  const gone = peer.next("status", (s) => s.message.includes("cannot be deleted"));
  peer.client.setParameters([{ name: "ball_filter.friction" }]);
  await gone;

  other.client.unsubscribeParameterUpdates(["ball_filter.friction"]);
  other.client.getParameters(["nothing.here"], "fence2");
  assert.deepEqual((await other.next("parameterValues", (v) => v.id === "fence2")).parameters, []);
  await Promise.all([peer.close(), other.close()]);
}

async function graph(port) {
  const peer = await new Peer(port).greeted();
  peer.client.subscribeConnectionGraph();
  const update = await peer.next("connectionGraphUpdate");
  assert.deepEqual(update.publishedTopics.find((t) => t.name === "/ball").publisherIds, ["ball_filter"]);
  assert(update.subscribedTopics.find((t) => t.name === "/ball").subscriberIds.includes("keeper"));
  assert.deepEqual([update.removedTopics, update.removedServices], [[], []]);
  peer.client.unsubscribeConnectionGraph();
  await peer.close();
}

// Without the token, and from a stranger's page even with it, a client looks on and changes nothing.
async function strangers(port) {
  const some = [{ path: "/" }, { path: "/?token=wrong-token" }, { headers: { Origin: "https://evil.example" } }];
  for (const options of some) {
    const peer = await new Peer(port, options).greeted();
    assert.equal(peer.info.metadata.write, "no");
    const refusal = peer.next("status", (s) => s.level === 2 && s.message.includes("read only"));
    peer.client.setParameters([{ name: "ball_filter.forget", value: 6 }], "no");
    assert.equal(number(await peer.next("parameterValues", (v) => v.id === "no"), "ball_filter.forget"), 3);
    await refusal;
    const failure = peer.next("serviceCallFailure");
    const services = await peer.next("advertiseServices", () => true, true);
    const { id: serviceId } = services.find((s) => s.name === "/nutmeg/change");
    peer.client.sendServiceCallRequest({ serviceId, callId: 3, encoding: "cdr", data: new DataView(new ArrayBuffer(4)) });
    assert.match((await failure).message, /read only/);
    // an advertisement alone does nothing; a message on it is refused with the reason
    const unheard = peer.next("status", (s) => s.level === 2 && s.message.includes("read only"));
    const joy = peer.client.advertise({ topic: "/joy", encoding: "cdr", schemaName: "sensor_msgs/msg/Joy" });
    peer.client.sendMessage(joy, new Uint8Array(4));
    await unheard;
    await peer.close();
  }
  for (const Origin of [`http://127.0.0.1:${port}`, "http://localhost:5173"]) {
    const peer = await new Peer(port, { headers: { Origin } }).greeted();
    assert.equal(peer.info.metadata.write, "yes");
    await peer.close();
  }
  await new Peer(port, { headers: { Host: "evil.example" } }).next("error");
  await new Peer(port, { path: "/", headers: { Origin: "https://evil.example" } }).next("error");
}

// Nonsense is answered or ends the one connection it came on.
async function nonsense(port) {
  const good = await new Peer(port).greeted();
  const peer = await new Peer(port).greeted();
  for (const text of ["", "{", "[]", "null", '{"op":"dance"}', '{"op":"subscribe","subscriptions":[{"id":-1,"channelId":[]}]}', "\u0000".repeat(100)]) peer.ws.send(text);
  for (const frame of [[], [0], [1], [2, 0, 0], [9, 9, 9], [2, 1, 0, 0, 0, 1, 0, 0, 0, 255, 255, 255, 255]]) peer.ws.send(Uint8Array.from(frame));
  peer.client.getParameters([], "still");
  await peer.next("parameterValues", (v) => v.id === "still");
  const closed = peer.next("close", undefined, true);
  peer.ws.send("x".repeat(200000));
  await closed;
  const vast = await new Peer(port).greeted(), gone = vast.next("close", undefined, true);
  vast.ws.send(new Uint8Array(3 << 20));
  await gone;
  good.client.getParameters([], "fine");
  await good.next("parameterValues", (v) => v.id === "fine");
  await good.close();
}

// The seats are for those who have the token; the others fill what is left.
async function seats(port) {
  const others = await Promise.all(Array.from({ length: 16 }, () => new Peer(port, { path: "/" }).greeted()));
  await new Peer(port, { path: "/" }).next("error");
  const gone = others.map((p) => p.next("close", undefined, true));
  const peers = [];
  while (peers.length < 16) peers.push(await new Peer(port).greeted());
  await Promise.all(gone);
  await new Peer(port).next("error");
  await Promise.all(peers.map((p) => p.close()));
}

// Connections that say nothing, or half of a request, keep nobody out.
async function idlers(port) {
  const all = [];
  for (let i = 0; i < 1000; i++) {
    const socket = connect(port, "127.0.0.1", () => i % 2 && socket.write("GET / HTTP/1.1\r\nHost: 127."));
    socket.on("error", () => {});
    all.push(socket);
  }
  const slow = Array.from({ length: 50 }, () => new WebSocket(`ws://127.0.0.1:${port}/`, ["foxglove.websocket.v1"]));
  for (const ws of slow) ws.on("error", () => {}).on("open", () => ws.pause());
  await Promise.all(all.map((s) => new Promise((r) => (s.readyState === "opening" ? s.once("connect", r).once("close", r) : r()))));
  const peer = await new Peer(port).greeted();
  peer.client.getParameters([], "owner");
  await peer.next("parameterValues", (v) => v.id === "owner");
  await peer.close();
  for (const s of all) s.destroy();
  for (const ws of slow) ws.terminate();
}

async function services(port) {
  const peer = await new Peer(port).greeted();
  const list = await peer.next("advertiseServices", undefined, true);
  const service = list.find((s) => s.name === "/tare_feet");
  assert.equal(service.type, "std_srvs/srv/Trigger");
  const read = new MessageReader(parse(service.response.schema, { ros2: true }));
  const cdr = Uint8Array.of(0, 1, 0, 0, 0);
  peer.client.sendServiceCallRequest({ serviceId: service.id, callId: 41, encoding: "cdr", data: new DataView(cdr.buffer) });
  const answer = await peer.next("serviceCallResponse", (r) => r.callId === 41);
  assert.equal(answer.encoding, "cdr");
  assert.equal(typeof read.readMessage(bytes(answer.data)).success, "boolean");
  const json = new TextEncoder().encode("{}");
  peer.client.sendServiceCallRequest({ serviceId: service.id, callId: 42, encoding: "json", data: new DataView(json.buffer, json.byteOffset, json.byteLength) });
  const told = await peer.next("serviceCallResponse", (r) => r.callId === 42);
  assert.equal(typeof JSON.parse(new TextDecoder().decode(told.data)).message, "string");
  for (const [serviceId, encoding, why] of [[999, "cdr", /no service 999/], [service.id, "xml", /cdr or json/], [service.id, "cdr", /./]]) {
    const failure = peer.next("serviceCallFailure", (f) => f.callId === 43);
    peer.client.sendServiceCallRequest({ serviceId, callId: 43, encoding, data: new DataView(new ArrayBuffer(1)) });
    assert.match((await failure).message, why);
  }
  await peer.close();
}

async function publish(port) {
  const peer = await new Peer(port).greeted(), channel = peer.channel("/joy"), read = reader(channel);
  const id = peer.client.subscribe(channel.id);
  const zero = { header: { stamp: { sec: 1, nanosec: 2 }, frame_id: "" }, axes: [], buttons: [] };
  const cdr = peer.client.advertise({ topic: "/joy", encoding: "cdr", schemaName: "sensor_msgs/msg/Joy" });
  const first = peer.next("message", (m) => m.subscriptionId === id);
  peer.client.sendMessage(cdr, writer(channel.schema).writeMessage({ ...zero, axes: [0.25, -1], buttons: [1, 0, 3] }));
  const joy = read.readMessage(bytes((await first).data));
  assert.deepEqual([Array.from(joy.axes), Array.from(joy.buttons)], [[0.25, -1], [1, 0, 3]]);
  const json = peer.client.advertise({ topic: "/joy", encoding: "json", schemaName: "sensor_msgs/Joy" });
  const second = peer.next("message", (m) => m.subscriptionId === id);
  peer.client.sendMessage(json, new TextEncoder().encode(JSON.stringify({ ...zero, axes: [0.5] })));
  assert.deepEqual(Array.from(read.readMessage(bytes((await second).data)).axes), [0.5]);

  const broken = peer.next("status", (s) => s.message.startsWith("publish: "));
  peer.client.sendMessage(cdr, Uint8Array.of(0, 1, 0, 0, 7));
  await broken;
  const other = peer.next("status", (s) => s.message.includes("carries sensor_msgs/msg/Joy"));
  peer.client.advertise({ topic: "/joy", encoding: "cdr", schemaName: "std_msgs/msg/String" });
  await other;
  const inside = peer.next("status", (s) => s.message.includes("cannot be published from outside"));
  peer.client.advertise({ topic: "/joint_states", encoding: "cdr", schemaName: "sensor_msgs/msg/JointState" });
  await inside;
  peer.client.unadvertise(cdr);
  const closed = peer.next("status", (s) => s.message.includes(`no channel ${cdr}`));
  peer.client.sendMessage(cdr, new Uint8Array(4));
  await closed;
  await peer.close();
}

async function assets(port) {
  const peer = await new Peer(port, { path: "/" }).greeted();
  const urdf = readFileSync(`${root}/robots/kid70/robot.urdf`);
  const fetch = (uri, requestId) => (peer.client.fetchAsset(uri, requestId), peer.next("fetchAssetResponse", (r) => r.requestId === requestId));
  const file = await fetch("package://kid70/robot.urdf", 1);
  assert.equal(file.status, 0);
  assert.equal(Buffer.compare(bytes(file.data), urdf), 0);
  const wrong = ["package://kid70/../darwin/robot.urdf", "package://kid70//etc/passwd", "package://darwin/robot.urdf",
    "file:///etc/passwd", "package://kid70/nothing.stl", "package://kid70/", "package://kid70/%2e%2e/x", ""];
  for (const [i, uri] of wrong.entries()) {
    const answer = await fetch(uri, 100 + i);
    assert.equal(answer.status, 1, uri);
    assert(answer.error.length > 0);
  }
  const channel = peer.channel("/robot_description");
  const id = peer.client.subscribe(channel.id);
  const message = await peer.next("message", (m) => m.subscriptionId === id);
  assert.equal(reader(channel).readMessage(bytes(message.data)).data, urdf.toString());
  await peer.close();
}

async function time(port) {
  const peer = await new Peer(port).greeted();
  assert(peer.info.capabilities.includes("time"));
  const first = await peer.next("time"), second = await peer.next("time");
  assert(second.timestamp > first.timestamp && second.timestamp < 3600n * 1000000000n);
  await peer.close();
}

async function locked(port) {
  const peer = await new Peer(port).greeted();
  const refusal = peer.next("status", (s) => s.message.includes("writing is locked"));
  peer.client.setParameters([{ name: "ball_filter.forget", value: 6 }]);
  await refusal;
  await peer.close();
}

const plan = [
  ["lineups/play.yaml", [], [greeting, messages, parameters, graph, strangers, nonsense, seats, idlers]],
  ["lineups/body.yaml", ["--hardware", "none"], [services, publish, assets]],
  ["lineups/play.yaml", ["--virtual", "--speed", "1"], [time]],
  ["lineups/play.yaml", ["--live-locked"], [locked]],
];
for (const [lineup, flags, checks] of plan) {
  const player = await play(lineup, ...flags);
  for (const check of checks) {
    try {
      await check(player.port);
    } catch (fault) {
      console.error(`${check.name}: ${fault.stack}`);
      await player.end();
      process.exit(1);
    }
    console.log(`${check.name}: ok`);
  }
  assert.equal(await player.end(), 0, `${lineup} did not end well`);
}
process.exit(0);
