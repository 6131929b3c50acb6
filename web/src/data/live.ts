// A running robot over the Foxglove WebSocket protocol, version 1. The connection comes back by itself, and what was
// subscribed is subscribed again.
import { History } from "./history";
import { type Entry, type Graph, type Parameter, Robot, type Service, type Topic, type TopicStats } from "./robot";
import { type Message, parseSchema, type Schema } from "./schema";
import { changed } from "./clock";

const LARGE = /Image$|PointCloud/;

class LiveTopic implements Topic {
  readonly history: History;
  holders = 0;
  subscription = 0; // 0: not subscribed
  private made?: Schema;
  private last?: { bytes: Uint8Array; entry: Entry };
  constructor(
    readonly robot: LiveRobot,
    readonly name: string,
    readonly type: string,
    private definition: string,
    public channel: number,
  ) {
    this.history = new History(LARGE.test(type) ? 48 << 20 : undefined);
  }
  get schema(): Schema {
    return (this.made ??= parseSchema(this.type, this.definition));
  }
  hold(): () => void {
    if (!this.holders++) this.robot.want(this);
    let held = true;
    return () => {
      if (held && !--this.holders) this.robot.unwant(this);
      held = false;
    };
  }
  at(time: number): Entry | undefined {
    const found = this.history.at(time);
    if (!found) return undefined;
    // the same bytes are decoded once
    const last = this.last;
    if (last && last.entry.time === found.time && last.bytes.buffer === found.bytes.buffer && last.bytes.byteOffset === found.bytes.byteOffset)
      return last.entry;
    const entry = { time: found.time, value: this.schema.read(found.bytes) };
    this.last = { bytes: found.bytes, entry };
    return entry;
  }
  each(after: number, until: number, tell: (time: number, value: Message) => void) {
    this.history.each(after, until, (time, bytes) => tell(time, this.schema.read(bytes)));
  }
  stats(): TopicStats {
    return { count: this.history.count, bytes: this.history.total, newest: this.history.newest };
  }
}

export class LiveRobot extends Robot {
  private socket?: WebSocket;
  private channels = new Map<number, LiveTopic>();
  private subscriptions = new Map<number, LiveTopic>();
  private nextId = 1;
  private session = "";
  private newestTime = NaN;
  private firstTime = NaN;
  private closed = false;
  private retry = 0;
  private waiting = new Map<string, { resolve: (v: any) => void; reject: (e: Error) => void }>();
  private published = new Map<string, number>();
  private servicesById = new Map<number, Service>();
  private pending: LiveTopic[] = [];
  greeted?: (robot: LiveRobot) => void; // called with every serverInfo

  constructor(key: string, name: string, team: number | undefined, public address: string, readonly token: string) {
    super(key, name, team);
    this.connect();
  }
  get now(): number {
    return this.newestTime;
  }
  get span(): [number, number] {
    return [this.firstTime, this.newestTime];
  }

  private connect() {
    const query = this.token ? `/?token=${encodeURIComponent(this.token)}` : "/";
    const socket = new WebSocket(`${location.protocol === "https:" ? "wss" : "ws"}://${this.address}${query}`, ["foxglove.websocket.v1"]);
    socket.binaryType = "arraybuffer";
    this.socket = socket;
    socket.onmessage = (event) => {
      try {
        if (typeof event.data === "string") this.hearText(JSON.parse(event.data));
        else this.hearBytes(event.data);
      } catch (error) {
        this.notice(2, `a message of ${this.name} cannot be read: ${(error as Error).message}`);
      }
    };
    socket.onclose = () => {
      if (this.socket !== socket || this.closed) return;
      if (this.connection.value === "connected") this.notice(2, `the connection to ${this.name} is lost`);
      this.connection.value = "lost";
      this.mayWrite.value = false;
      for (const w of this.waiting.values()) w.reject(new Error("the connection is lost"));
      this.waiting.clear();
      this.subscriptions.clear();
      for (const topic of this.channels.values()) topic.subscription = 0;
      changed();
      this.retry = window.setTimeout(() => this.connect(), 1000);
    };
  }
  // A server that was started again may have another port.
  moveTo(address: string) {
    this.address = address;
    clearTimeout(this.retry);
    const old = this.socket;
    this.socket = undefined;
    old?.close();
    this.subscriptions.clear();
    for (const topic of this.channels.values()) topic.subscription = 0;
    this.connect();
  }
  close() {
    this.closed = true;
    clearTimeout(this.retry);
    this.socket?.close();
  }
  private send(message: object | Uint8Array<ArrayBuffer>) {
    if (this.socket?.readyState !== WebSocket.OPEN) throw new Error(`${this.name} is not connected`);
    this.socket.send(message instanceof Uint8Array ? message : JSON.stringify(message));
  }

  // ---- what it says ----

  private hearText(m: any) {
    switch (m.op) {
      case "serverInfo": {
        if (this.session && m.sessionId !== this.session) {
          for (const topic of this.channels.values()) topic.history.clear();
          this.newestTime = this.firstTime = NaN;
        }
        this.session = m.sessionId;
        this.name = this.name || m.name;
        this.metadata.value = m.metadata ?? {};
        this.mayWrite.value = m.metadata?.write === "yes";
        this.published.clear();
        this.dropping.value = false;
        this.connection.value = "connected";
        this.send({ op: "getParameters", parameterNames: [], id: "all" });
        this.send({ op: "subscribeConnectionGraph" });
        this.greeted?.(this);
        break;
      }
      case "advertise":
        this.advertise(m.channels);
        break;
      case "unadvertise": {
        const topics = new Map(this.topics.value);
        for (const id of m.channelIds) {
          const topic = this.channels.get(id);
          if (topic) topics.delete(topic.name);
          this.channels.delete(id);
        }
        this.topics.value = topics;
        break;
      }
      case "advertiseServices": {
        const services = new Map(this.services.value);
        for (const s of m.services) {
          const service = { id: s.id, name: s.name, type: s.type, request: s.request?.schema ?? s.requestSchema, response: s.response?.schema ?? s.responseSchema };
          services.set(s.name, service);
          this.servicesById.set(s.id, service);
        }
        this.services.value = services;
        break;
      }
      case "parameterValues": {
        const all = new Map(m.id === "all" ? [] : this.parameters.value);
        for (const p of m.parameters as Parameter[]) all.set(p.name, p);
        this.parameters.value = all;
        if (m.id === "all") this.send({ op: "subscribeParameterUpdates", parameterNames: [] });
        this.answer(`parameters ${m.id}`, m.parameters);
        break;
      }
      case "connectionGraphUpdate":
        this.graph.value = graphOf(m);
        break;
      case "serviceCallFailure":
        this.refuse(`call ${m.callId}`, m.message);
        break;
      case "status":
        if (m.id === "late") {
          this.dropping.value = true;
          this.drops++;
        }
        this.notice(m.level, m.message);
        break;
      case "removeStatus":
        if (m.statusIds.includes("late")) this.dropping.value = false;
        break;
    }
  }
  private advertise(channels: any[]) {
    const topics = new Map(this.topics.value);
    for (const c of channels) {
      if (c.encoding !== "cdr") continue;
      const old = topics.get(c.topic) as LiveTopic | undefined;
      // after a reconnection the topic and all who hold it stay
      const topic = old && old.type === c.schemaName ? old : new LiveTopic(this, c.topic, c.schemaName, c.schema, c.id);
      topic.channel = c.id;
      topics.set(c.topic, topic);
      this.channels.set(c.id, topic);
      if (topic.holders && !topic.subscription) this.want(topic);
    }
    this.topics.value = topics;
  }
  private hearBytes(buffer: ArrayBuffer) {
    const view = new DataView(buffer);
    switch (view.getUint8(0)) {
      case 1: {
        const topic = this.subscriptions.get(view.getUint32(1, true));
        if (!topic) return;
        const time = Number(view.getBigUint64(5, true)) * 1e-9;
        topic.history.push(time, new Uint8Array(buffer, 13));
        this.tick(time);
        break;
      }
      case 2:
        this.tick(Number(view.getBigUint64(1, true)) * 1e-9);
        break;
      case 3: {
        const call = view.getUint32(5, true);
        const n = view.getUint32(9, true);
        this.answer(`call ${call}`, JSON.parse(new TextDecoder().decode(new Uint8Array(buffer, 13 + n)) || "{}"));
        break;
      }
      case 4: {
        const id = view.getUint32(1, true);
        const n = view.getUint32(6, true);
        if (view.getUint8(5)) this.refuse(`asset ${id}`, new TextDecoder().decode(new Uint8Array(buffer, 10, n)));
        else this.answer(`asset ${id}`, new Uint8Array(buffer, 10 + n));
        break;
      }
    }
  }
  private tick(time: number) {
    // what was published before the page came, such as the first lines of the log, does not move the clock
    if (!(time <= this.newestTime)) this.newestTime = time;
    if (!(this.firstTime <= time)) this.firstTime = time;
    changed();
  }

  // ---- what the page asks ----

  want(topic: LiveTopic) {
    if (this.connection.value !== "connected" || topic.subscription) return;
    topic.subscription = this.nextId++;
    this.subscriptions.set(topic.subscription, topic);
    // those of one moment travel together
    if (!this.pending.length) queueMicrotask(() => this.subscribeAll());
    this.pending.push(topic);
  }
  private subscribeAll() {
    const subscriptions = this.pending.filter((t) => t.subscription).map((t) => ({ id: t.subscription, channelId: t.channel }));
    this.pending = [];
    if (subscriptions.length && this.socket?.readyState === WebSocket.OPEN) this.send({ op: "subscribe", subscriptions });
  }
  unwant(topic: LiveTopic) {
    // a panel that is moved lets go and holds again at once
    setTimeout(() => {
      if (topic.holders || !topic.subscription) return;
      this.subscriptions.delete(topic.subscription);
      if (this.socket?.readyState === WebSocket.OPEN) this.send({ op: "unsubscribe", subscriptionIds: [topic.subscription] });
      topic.subscription = 0;
    }, 500);
  }
  private ask<T>(key: string): Promise<T> {
    return new Promise((resolve, reject) => {
      this.waiting.set(key, { resolve, reject });
    });
  }
  private answer(key: string, value: any) {
    this.waiting.get(key)?.resolve(value);
    this.waiting.delete(key);
  }
  private refuse(key: string, why: string) {
    this.waiting.get(key)?.reject(new Error(why));
    this.waiting.delete(key);
  }
  // A refused value comes back as it was; the reason is the newest notice.
  async setParameters(values: { name: string; value: unknown }[]): Promise<Parameter[]> {
    const id = `set${this.nextId++}`;
    const before = new Set(this.notices.value);
    this.send({ op: "setParameters", parameters: values, id });
    const now = await this.ask<Parameter[]>(`parameters ${id}`);
    // a refusal names the parameter; other notices may come at the same time
    const told = this.notices.value.find((n) => !before.has(n) && n.level > 0 && values.some((v) => n.text.includes(v.name.split(".").pop()!)));
    if (told) throw new Error(told.text);
    return now;
  }
  async call(name: string, request: unknown): Promise<any> {
    const service = this.services.value.get(name);
    if (!service) throw new Error(`${this.name} has no service ${name}`);
    const id = this.nextId++;
    const body = new TextEncoder().encode(JSON.stringify(request));
    const frame = new Uint8Array(17 + body.length);
    const view = new DataView(frame.buffer);
    view.setUint8(0, 2);
    view.setUint32(1, service.id, true);
    view.setUint32(5, id, true);
    view.setUint32(9, 4, true);
    frame.set(new TextEncoder().encode("json"), 13);
    frame.set(body, 17);
    this.send(frame);
    return this.ask(`call ${id}`);
  }
  publish(topic: string, type: string, message: unknown) {
    let id = this.published.get(topic);
    if (id === undefined) {
      id = this.nextId++;
      this.published.set(topic, id);
      this.send({ op: "advertise", channels: [{ id, topic, encoding: "json", schemaName: type }] });
    }
    const body = new TextEncoder().encode(JSON.stringify(message));
    const frame = new Uint8Array(5 + body.length);
    new DataView(frame.buffer).setUint8(0, 1);
    new DataView(frame.buffer).setUint32(1, id, true);
    frame.set(body, 5);
    this.send(frame);
  }
  async asset(uri: string): Promise<Uint8Array> {
    const requestId = this.nextId++;
    this.send({ op: "fetchAsset", uri, requestId });
    return this.ask(`asset ${requestId}`);
  }
}

function graphOf(m: any): Graph {
  return {
    published: m.publishedTopics.map((t: any) => ({ name: t.name, by: t.publisherIds })),
    subscribed: m.subscribedTopics.map((t: any) => ({ name: t.name, by: t.subscriberIds })),
    services: m.advertisedServices.map((t: any) => ({ name: t.name, by: t.providerIds })),
  };
}
