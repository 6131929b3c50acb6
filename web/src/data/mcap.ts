// Logs in MCAP files, ours and other people's. Only the index at the end of a file is read at once; chunks are read where
// somebody looks, so that a file may have gigabytes. A file comes from the visitor's disk or, in ranges of bytes, over HTTP.
import { decompress as unzstd } from "fzstd";
import { changed } from "./clock";
import { type Entry, Robot, type Topic, type TopicStats } from "./robot";
import { type SchemaRecord, schemaMaker } from "./encodings";
import type { Message, Schema } from "./schema";

export interface Bytes {
  size: number;
  read(from: number, size: number): Promise<Uint8Array>;
}
export const ofFile = (file: File): Bytes => ({
  size: file.size,
  read: async (from, size) => new Uint8Array(await file.slice(from, from + size).arrayBuffer()),
});
export async function ofUrl(url: string): Promise<Bytes> {
  const head = await fetch(url, { headers: { Range: "bytes=0-7" } });
  const range = /\/(\d+)$/.exec(head.headers.get("Content-Range") ?? "");
  if (!range) throw new Error(head.ok ? "the server does not send parts of files" : await head.text());
  return {
    size: Number(range[1]),
    read: async (from, size) => {
      const answer = await fetch(url, { headers: { Range: `bytes=${from}-${from + size - 1}` } });
      if (!answer.ok) throw new Error(await answer.text());
      return new Uint8Array(await answer.arrayBuffer());
    },
  };
}

// ---- compression ----

// LZ4 frames (lz4 frame format 1.6): blocks that may refer to earlier ones.
export function unlz4(from: Uint8Array, size: number): Uint8Array {
  const to = new Uint8Array(size);
  const view = new DataView(from.buffer, from.byteOffset, from.byteLength);
  if (view.getUint32(0, true) !== 0x184d2204) throw new Error("this is not an LZ4 frame");
  const flags = from[4];
  let at = 6 + (flags & 8 ? 8 : 0) + (flags & 1 ? 4 : 0) + 1;
  let out = 0;
  for (;;) {
    const length = view.getUint32(at, true);
    at += 4;
    if (!length) break;
    const n = length & 0x7fffffff;
    const end = at + n;
    if (length & 0x80000000) {
      to.set(from.subarray(at, end), out);
      out += n;
      at = end;
    }
    while (at < end) {
      const token = from[at++];
      let literals = token >> 4;
      if (literals === 15) for (let b = 255; b === 255; ) literals += b = from[at++];
      to.set(from.subarray(at, at + literals), out);
      at += literals;
      out += literals;
      if (at >= end) break;
      const back = from[at] | (from[at + 1] << 8);
      at += 2;
      let match = (token & 15) + 4;
      if (match === 19) for (let b = 255; b === 255; ) match += b = from[at++];
      if (!back || back > out || out + match > size) throw new Error("a compressed block is broken");
      for (let i = 0; i < match; i++, out++) to[out] = to[out - back];
    }
    if (flags & 16) at += 4;
  }
  return to;
}
function unpack(how: string, bytes: Uint8Array, size: number): Uint8Array {
  if (how === "") return bytes;
  if (how === "zstd") return unzstd(bytes, new Uint8Array(size));
  if (how === "lz4") return unlz4(bytes, size);
  throw new Error(`logs compressed with ${how} cannot be read`);
}

// ---- records ----

const OP = { FOOTER: 2, SCHEMA: 3, CHANNEL: 4, MESSAGE: 5, CHUNK: 6, CHUNK_INDEX: 8, STATISTICS: 11, DATA_END: 15 };
const MAGIC = [0x89, 0x4d, 0x43, 0x41, 0x50, 0x30, 0x0d, 0x0a];
const text = new TextDecoder();
class Reader {
  at = 0;
  private view: DataView;
  constructor(readonly bytes: Uint8Array) {
    this.view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  }
  get left() {
    return this.bytes.length - this.at;
  }
  u8 = () => this.bytes[this.at++];
  u16 = () => ((this.at += 2), this.view.getUint16(this.at - 2, true));
  u32 = () => ((this.at += 4), this.view.getUint32(this.at - 4, true));
  u64 = () => ((this.at += 8), Number(this.view.getBigUint64(this.at - 8, true)));
  time = () => {
    const ns = this.view.getBigUint64(this.at, true);
    this.at += 8;
    return Number(ns / 1000000000n) + Number(ns % 1000000000n) * 1e-9;
  };
  take(n: number): Uint8Array {
    if (n > this.left) throw new Error("a record is longer than its file");
    this.at += n;
    return this.bytes.subarray(this.at - n, this.at);
  }
  string = () => text.decode(this.take(this.u32()));
}
function* records(bytes: Uint8Array): Generator<{ op: number; body: Uint8Array }> {
  const r = new Reader(bytes);
  while (r.left >= 9) {
    const op = r.u8();
    const size = r.u64();
    if (size > r.left) return;
    yield { op, body: r.take(size) };
  }
}

interface Chunk {
  from: number; // s
  to: number;
  offset: number;
  length: number;
  channels: Set<number> | undefined; // undefined: not known
  messages?: Map<number, { times: number[]; bodies: Uint8Array[] }>; // by channel; undefined: not loaded
  asked: boolean;
  used: number;
  size: number;
  loose: boolean; // messages that lie in no chunk of the file
}
interface Channel {
  schema: number;
  topic: string;
  encoding: string;
}

const CACHE = 160 << 20; // bytes of loaded chunks
const SCAN = 1 << 18; // bytes read at once in a file without an index
const LOOSE = 1 << 22; // bytes of messages without a chunk that are loaded together
const LARGEST = 1 << 30; // bytes of an unpacked chunk

class LogTopic implements Topic {
  holders = 0;
  readonly channels: number[] = [];
  private made?: Schema;
  private last?: { body: Uint8Array; entry: Entry };
  count = 0;
  constructor(
    readonly robot: LogRobot,
    readonly name: string,
    readonly type: string,
    private make: () => Schema,
  ) {}
  get schema(): Schema {
    return (this.made ??= this.make());
  }
  hold() {
    this.holders++;
    return () => void this.holders--;
  }
  at(time: number): Entry | undefined {
    const found = this.robot.find(this.channels, time - this.robot.offset);
    if (!found) return undefined;
    if (this.last?.body === found.body) return this.last.entry;
    const entry = { time: found.time + this.robot.offset, value: this.schema.read(found.body) };
    this.last = { body: found.body, entry };
    return entry;
  }
  each(after: number, until: number, tell: (time: number, value: Message) => void, load = true) {
    const shift = this.robot.offset;
    this.robot.each(this.channels, after - shift, until - shift, (time, body) => tell(time + shift, this.schema.read(body)), load);
  }
  stats(): TopicStats {
    return { count: this.count, bytes: 0, newest: this.robot.now };
  }
}

export class LogRobot extends Robot {
  offset = 0; // s, added to all times
  private chunks: Chunk[] = []; // by their first time
  private reach: number[] = []; // s, the last time of a chunk and all before it
  private channels = new Map<number, Channel>();
  private schemas = new Map<number, SchemaRecord>();
  private unread = new Set<string>(); // topics whose messages nobody here can read
  private range: [number, number] = [NaN, NaN];
  private queue: Chunk[] = [];
  private busy = 0;
  private held = 0; // bytes
  private tick = 0;
  constructor(
    key: string,
    name: string,
    team: number | undefined,
    private bytes: Bytes,
  ) {
    super(key, name, team);
    this.connection.value = "log";
  }
  get now(): number {
    return this.range[1] + this.offset;
  }
  get span(): [number, number] {
    return [this.range[0] + this.offset, this.range[1] + this.offset];
  }
  get size(): number {
    return this.bytes.size;
  }

  async open(): Promise<this> {
    const { size } = this.bytes;
    const head = await this.bytes.read(0, 8);
    if (size < 45 || MAGIC.some((b, i) => head[i] !== b)) throw new Error(`${this.name} is not an MCAP file`);
    const end = await this.bytes.read(size - 37, 37);
    const whole = MAGIC.every((b, i) => end[29 + i] === b) && end[0] === OP.FOOTER;
    const footer = new Reader(end.subarray(9));
    const summary = whole ? footer.u64() : 0;
    if (summary) this.readSummary(await this.bytes.read(summary, size - 37 - summary));
    if (!this.chunks.length) await this.scan();
    this.chunks.sort((a, b) => a.from - b.from);
    for (const c of this.chunks) this.reach.push(Math.max(c.to, this.reach[this.reach.length - 1] ?? c.to));
    // a summary may leave them out; then chunks have them
    if (!this.channels.size) for (const chunk of this.chunks.slice(0, 3)) await this.load(chunk);
    for (const [id, channel] of this.channels) this.addTopic(id, channel);
    this.topics.value = new Map(this.topics.value);
    if (this.unread.size) this.notice(1, `not shown, for their encodings are not known here: ${[...this.unread].join(", ")}`);
    for (const c of this.chunks) {
      if (!(c.from >= this.range[0])) this.range[0] = c.from;
      if (!(c.to <= this.range[1])) this.range[1] = c.to;
    }
    if (Number.isNaN(this.range[0])) throw new Error(`${this.name} has no messages`);
    return this;
  }
  private note(op: number, body: Uint8Array) {
    const r = new Reader(body);
    if (op === OP.SCHEMA) {
      const id = r.u16();
      this.schemas.set(id, { name: r.string(), encoding: r.string(), data: r.take(r.u32()).slice() });
    } else if (op === OP.CHANNEL) {
      const id = r.u16();
      this.channels.set(id, { schema: r.u16(), topic: r.string(), encoding: r.string() });
    }
  }
  private readSummary(bytes: Uint8Array) {
    for (const { op, body } of records(bytes)) {
      this.note(op, body);
      if (op !== OP.CHUNK_INDEX) continue;
      const r = new Reader(body);
      const chunk: Chunk = { from: r.time(), to: r.time(), offset: r.u64(), length: r.u64(), channels: new Set(), asked: false, used: 0, size: 0, loose: false };
      const map = new Reader(r.take(r.u32()));
      while (map.left >= 10) {
        chunk.channels!.add(map.u16());
        map.u64();
      }
      if (!chunk.channels!.size) chunk.channels = undefined;
      if (chunk.to || chunk.from) this.chunks.push(chunk);
    }
  }
  // A file without an index (its writer died, or wrote none) is walked through once. Only heads of records are read.
  private async scan() {
    let at = 8;
    let loose: Chunk | undefined; // messages outside of chunks
    let block: Uint8Array = new Uint8Array(0); // the records between two chunks are small, and read together
    let start = 0;
    while (at + 9 <= this.bytes.size) {
      if (at < start || at + 64 > start + block.length) {
        start = at;
        block = await this.bytes.read(at, Math.min(SCAN, this.bytes.size - at));
      }
      const head = new Reader(block.subarray(at - start, at - start + 64));
      const op = head.u8();
      const length = head.u64();
      if (op === OP.DATA_END || op === OP.FOOTER || at + 9 + length > this.bytes.size) break;
      if (op === OP.CHUNK)
        this.chunks.push({ from: head.time(), to: head.time(), offset: at, length: 9 + length, channels: undefined, asked: false, used: 0, size: 0, loose: false });
      else if (op === OP.SCHEMA || op === OP.CHANNEL) this.note(op, await this.bytes.read(at + 9, length));
      else if (op === OP.MESSAGE) {
        const id = head.u16();
        head.u32();
        const time = head.time();
        if (!loose || at - loose.offset > LOOSE)
          this.chunks.push((loose = { from: time, to: time, offset: at, length: 0, channels: new Set(), asked: false, used: 0, size: 0, loose: true }));
        loose.from = Math.min(loose.from, time);
        loose.to = Math.max(loose.to, time);
        loose.length = at + 9 + length - loose.offset;
        loose.channels!.add(id);
      }
      at += 9 + length;
    }
  }
  private addTopic(id: number, channel: Channel) {
    const schema = this.schemas.get(channel.schema) ?? { name: channel.topic, encoding: "", data: new Uint8Array(0) };
    const make = schemaMaker(channel.encoding, schema);
    if (!make) {
      this.unread.add(`${channel.topic} (${channel.encoding || "no encoding"}, ${schema.encoding || "no schema"})`);
      return;
    }
    const name = channel.topic.startsWith("/") ? channel.topic : `/${channel.topic}`;
    const topics = this.topics.value as Map<string, Topic>;
    let topic = topics.get(name) as LogTopic | undefined;
    if (!topic) topics.set(name, (topic = new LogTopic(this, name, schema.name, make)));
    topic.channels.push(id);
  }

  // ---- chunks, loaded as they are looked at ----

  private want(chunk: Chunk) {
    if (chunk.asked || chunk.messages) return;
    chunk.asked = true;
    this.queue.push(chunk);
    this.work();
  }
  private work() {
    while (this.busy < 2 && this.queue.length) {
      const chunk = this.queue.pop()!; // the newest wish first
      this.busy++;
      this.load(chunk)
        .catch((error) => this.notice(2, `a part of ${this.name} cannot be read: ${error.message}`))
        .finally(() => {
          this.busy--;
          changed();
          this.work();
        });
    }
  }
  async load(chunk: Chunk) {
    chunk.asked = true;
    const bytes = await this.bytes.read(chunk.offset, chunk.length);
    this.version++;
    if (chunk.loose) return this.take(chunk, bytes);
    const r = new Reader(bytes);
    r.at = 9 + 16;
    const size = r.u64();
    r.u32();
    const how = r.string();
    if (size > LARGEST) throw new Error("a chunk is too large");
    this.take(chunk, unpack(how, r.take(r.u64()), size));
  }
  private take(chunk: Chunk, bytes: Uint8Array) {
    const messages: NonNullable<Chunk["messages"]> = new Map();
    for (const { op, body } of records(bytes)) {
      if (op !== OP.MESSAGE) {
        const before = this.channels.size;
        this.note(op, body);
        if (op === OP.CHANNEL && this.channels.size > before && this.topics.value.size) {
          const id = new Reader(body).u16();
          this.addTopic(id, this.channels.get(id)!);
          this.topics.value = new Map(this.topics.value);
        }
        continue;
      }
      const r = new Reader(body);
      const id = r.u16();
      r.u32();
      const time = r.time();
      let list = messages.get(id);
      if (!list) messages.set(id, (list = { times: [], bodies: [] }));
      list.times.push(time);
      list.bodies.push(body.subarray(22));
    }
    for (const list of messages.values())
      if (list.times.some((t, i) => i > 0 && t < list.times[i - 1])) {
        const order = list.times.map((_, i) => i).sort((a, b) => list.times[a] - list.times[b]);
        [list.times, list.bodies] = [order.map((i) => list.times[i]), order.map((i) => list.bodies[i])];
      }
    chunk.messages = messages;
    chunk.size = bytes.length;
    chunk.used = ++this.tick;
    this.held += bytes.length;
    // what was not looked at for longest leaves
    while (this.held > CACHE) {
      const oldest = this.chunks.filter((c) => c.messages && c !== chunk).sort((a, b) => a.used - b.used)[0];
      if (!oldest) break;
      this.held -= oldest.size;
      oldest.messages = undefined;
      oldest.asked = false;
    }
  }
  // Chunks of other programs may overlap.
  find(channels: number[], time: number): { time: number; body: Uint8Array } | undefined {
    let best: { time: number; body: Uint8Array } | undefined;
    for (let c = this.chunks.length - 1; c >= 0; c--) {
      const chunk = this.chunks[c];
      if (best && this.reach[c] <= best.time) break;
      if (chunk.from > time || (best && chunk.to <= best.time) || (chunk.channels && !channels.some((id) => chunk.channels!.has(id)))) continue;
      if (!chunk.messages) {
        this.want(chunk);
        return best;
      }
      chunk.used = ++this.tick;
      for (const id of channels) {
        const list = chunk.messages.get(id);
        if (!list || list.times[0] > time) continue;
        let low = 0;
        let high = list.times.length - 1;
        while (low < high) {
          const mid = (low + high + 1) >> 1;
          if (list.times[mid] <= time) low = mid;
          else high = mid - 1;
        }
        if (!best || list.times[low] > best.time) best = { time: list.times[low], body: list.bodies[low] };
      }
    }
    return best;
  }
  each(channels: number[], after: number, until: number, tell: (time: number, body: Uint8Array) => void, load: boolean) {
    for (const chunk of this.chunks) {
      if (chunk.to <= after || chunk.from > until || (chunk.channels && !channels.some((id) => chunk.channels!.has(id)))) continue;
      if (!chunk.messages) {
        if (load && this.queue.length < 64) this.want(chunk);
        continue;
      }
      if (load) chunk.used = ++this.tick;
      for (const id of channels) {
        const list = chunk.messages.get(id);
        if (list) for (let i = 0; i < list.times.length; i++) if (list.times[i] > after && list.times[i] <= until) tell(list.times[i], list.bodies[i]);
      }
    }
  }
  // Walks through the whole log, chunk by chunk, in the background.
  async walk(look: (until: number) => void) {
    for (const chunk of [...this.chunks]) {
      if (!chunk.messages) await this.load(chunk).catch(() => {});
      look(chunk.to + this.offset);
      await new Promise((done) => setTimeout(done, 5));
    }
  }

  async setParameters(): Promise<never> {
    throw new Error("a log cannot be changed");
  }
  async call(): Promise<never> {
    throw new Error("a log has no services");
  }
  publish() {
    throw new Error("a log takes no messages");
  }
  async asset(): Promise<never> {
    throw new Error("a log has no files");
  }
  close() {
    this.queue = [];
  }
}
