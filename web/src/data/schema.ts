// Messages as they travel: the text of a ROS message definition becomes a reader of bytes, of CDR for ROS 2 (ros2msg),
// and of ROS 1's own form for ros1msg.

export interface Field {
  name: string;
  type: string; // "float64", "string", or the name of a message
  array?: "list" | number; // a number: that many elements
}
export interface Shape {
  name: string;
  fields: Field[];
  constants: { name: string; type: string; value: number | string | boolean; block: number }[]; // a blank line ends a block
}
export type Message = Record<string, any>;
export interface Schema {
  name: string; // of the root
  root: Shape;
  shapes: Map<string, Shape>;
  read: (bytes: Uint8Array) => Message;
}

const SIZES: Record<string, number> = {
  bool: 1, byte: 1, char: 1, int8: 1, uint8: 1, int16: 2, uint16: 2, int32: 4, uint32: 4, float32: 4, int64: 8, uint64: 8, float64: 8,
};
export const isNumeric = (type: string) => type in SIZES;

const short = (name: string) => name.replace("/msg/", "/").replace("/srv/", "/").replace("/action/", "/");

function parseLine(line: string, shape: Shape, block: number) {
  const text = line.replace(/#(?=(?:[^"']|"[^"]*"|'[^']*')*$).*/, "").trim();
  const m = /^([\w/]+(?:<=\d+)?)(\[(?:<=)?\d*\])?\s+(\w+)\s*(=)?\s*(.*)$/.exec(text);
  if (!m) return;
  const type = m[1].replace(/<=\d+$/, "");
  if (m[4]) {
    const value = type === "string" ? m[5].replace(/^["']|["']$/g, "") : type === "bool" ? /^(true|1)$/i.test(m[5]) : Number(m[5]);
    shape.constants.push({ name: m[3], type, value, block });
    return;
  }
  const field: Field = { name: m[3], type: short(type) };
  if (m[2]) field.array = /^\[\d+\]$/.test(m[2]) ? Number(m[2].slice(1, -1)) : "list";
  shape.fields.push(field);
}

// A cursor over bytes. CDR aligns numbers to their size, counted from behind a header of four bytes, and ends texts with
// a zero; ROS 1 does neither.
class Cursor {
  at: number;
  little: boolean;
  most: number; // alignment
  zero: number; // bytes behind a text
  view: DataView;
  constructor(
    public bytes: Uint8Array,
    cdr: boolean,
  ) {
    this.view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    this.at = cdr ? 4 : 0;
    this.zero = cdr ? 1 : 0;
    this.little = !cdr || (bytes[1] & 1) === 1;
    this.most = !cdr ? 1 : bytes[1] >= 6 ? 4 : 8; // XCDR2 aligns to four
  }
  align(size: number) {
    const to = Math.min(size, this.most);
    if (to > 1) this.at += (to - ((this.at - 4) % to)) % to;
  }
  count(): number {
    this.align(4);
    const n = this.view.getUint32(this.at, this.little);
    this.at += 4;
    return n;
  }
}
type Reader = (c: Cursor) => any;

const text = new TextDecoder();
const numbers: Record<string, Reader> = {
  bool: (c) => c.view.getUint8(c.at++) !== 0,
  byte: (c) => c.view.getUint8(c.at++),
  char: (c) => c.view.getUint8(c.at++),
  uint8: (c) => c.view.getUint8(c.at++),
  int8: (c) => c.view.getInt8(c.at++),
  int16: (c) => (c.align(2), (c.at += 2), c.view.getInt16(c.at - 2, c.little)),
  uint16: (c) => (c.align(2), (c.at += 2), c.view.getUint16(c.at - 2, c.little)),
  int32: (c) => (c.align(4), (c.at += 4), c.view.getInt32(c.at - 4, c.little)),
  uint32: (c) => (c.align(4), (c.at += 4), c.view.getUint32(c.at - 4, c.little)),
  float32: (c) => (c.align(4), (c.at += 4), c.view.getFloat32(c.at - 4, c.little)),
  int64: (c) => (c.align(8), (c.at += 8), Number(c.view.getBigInt64(c.at - 8, c.little))),
  uint64: (c) => (c.align(8), (c.at += 8), Number(c.view.getBigUint64(c.at - 8, c.little))),
  float64: (c) => (c.align(8), (c.at += 8), c.view.getFloat64(c.at - 8, c.little)),
};
const readString: Reader = (c) => {
  const n = c.count();
  if (n > c.bytes.length - c.at) throw new RangeError("a text is longer than its message");
  c.at += n;
  return n > c.zero ? text.decode(c.bytes.subarray(c.at - n, c.at - c.zero)) : "";
};

function readerOf(field: Field, shapes: Map<string, Shape>, made: Map<string, Reader>): Reader {
  const one: Reader =
    field.type === "string" ? readString : field.type === "wstring" ? wide : (numbers[field.type] ?? messageReader(field.type, shapes, made));
  if (field.array === undefined) return one;
  const fixed = field.array === "list" ? -1 : field.array;
  const size = SIZES[field.type] ?? 1;
  if (field.type === "uint8" || field.type === "byte" || field.type === "char")
    return (c) => {
      const n = fixed < 0 ? c.count() : fixed;
      if (n > c.bytes.length - c.at) throw new RangeError("a list is longer than its message");
      c.at += n;
      return c.bytes.subarray(c.at - n, c.at);
    };
  return (c) => {
    const n = fixed < 0 ? c.count() : fixed;
    if (n * (field.type in SIZES ? size : 0) > c.bytes.length - c.at || n > c.bytes.length) throw new RangeError("a list is longer than its message");
    const list = new Array(n);
    for (let i = 0; i < n; i++) list[i] = one(c);
    return list;
  };
}
const wide: Reader = (c) => {
  const n = c.count();
  let s = "";
  for (let i = 0; i < n; i++) s += String.fromCharCode(numbers.uint16(c));
  return s;
};

function messageReader(name: string, shapes: Map<string, Shape>, made: Map<string, Reader>): Reader {
  const known = made.get(name);
  if (known) return known;
  const shape = shapes.get(name);
  if (!shape) throw new Error(`the definition of ${name} is missing`);
  let fields: [string, Reader][] = [];
  const read: Reader = (c) => {
    const to: Message = {};
    for (const [key, reader] of fields) to[key] = reader(c);
    return to;
  };
  made.set(name, read);
  fields = shape.fields.map((f) => [f.name, readerOf(f, shapes, made)]);
  // an empty struct has one byte in CDR
  if (!fields.length) fields = [["structure_needs_at_least_one_member", (c) => (c.zero ? numbers.uint8(c) : 0)]];
  return read;
}

export function parseSchema(name: string, definition: string, cdr = true): Schema {
  const shapes = new Map<string, Shape>();
  const stamp = ["sec", "nanosec"].map((part) => ({ name: part, type: "uint32" }));
  if (!cdr) for (const type of ["time", "duration"]) shapes.set(type, { name: `builtin_interfaces/${type === "time" ? "Time" : "Duration"}`, fields: stamp, constants: [] });
  const root: Shape = { name: short(name), fields: [], constants: [] };
  for (const [i, part] of definition.split(/^={20,}\s*$/m).entries()) {
    const lines = part.split("\n");
    let shape = root;
    if (i) {
      const head = lines.findIndex((l) => l.startsWith("MSG:"));
      if (head < 0) continue;
      shape = { name: short(lines[head].slice(4).trim()), fields: [], constants: [] };
      lines.splice(0, head + 1);
    }
    shapes.set(shape.name, shape);
    let block = 0;
    for (const line of lines) {
      if (!line.trim()) block++;
      parseLine(line, shape, block);
    }
  }
  // a type without a package is one of the same package, or Header
  for (const shape of shapes.values())
    for (const field of shape.fields) {
      if (field.type in SIZES || field.type === "string" || field.type === "wstring" || shapes.has(field.type)) continue;
      const near = `${shape.name.split("/")[0]}/${field.type}`;
      field.type = shapes.has(near) ? near : ([...shapes.keys()].find((k) => k.endsWith(`/${field.type}`)) ?? field.type);
    }
  const reader = messageReader(root.name, shapes, new Map());
  const read = (bytes: Uint8Array) => {
    if (cdr && bytes.length < 4) throw new RangeError("a message has at least four bytes");
    return reader(new Cursor(bytes, cdr));
  };
  return { name, root, shapes, read };
}

// The name of a constant that a field holds, such as PLAYING for state 3. Constants of one meaning stand in one block and
// count up; servers leave out the blank lines between blocks. A block whose names share a first word, such as KICK_OWN and KICK_RIVAL, belongs to the fields that contain this word or
// its stem; a block without one belongs to fields with a general name.
const GENERAL = /(^|_)(state|previous|mode|kind|type|command|level|source|status)$/;
export function constantName(shape: Shape, field: string, value: number): string | undefined {
  const upper = field.toUpperCase();
  const blocks: Shape["constants"][] = [];
  for (const c of shape.constants.filter((c) => c.type !== "string")) {
    const before = blocks.at(-1)?.at(-1);
    if (before?.block === c.block && c.value > before.value) blocks.at(-1)!.push(c);
    else blocks.push([c]);
  }
  let general: string | undefined;
  for (const block of blocks) {
    const names = block.map((c) => c.name);
    const found = block.find((c) => c.value === value)?.name;
    let prefix = names[0].slice(0, names[0].lastIndexOf("_") + 1);
    while (prefix && !names.every((n) => n.startsWith(prefix))) prefix = prefix.slice(0, prefix.slice(0, -1).lastIndexOf("_") + 1);
    const word = prefix.slice(0, -1);
    if (!prefix || names.length < 2) general ??= found;
    else if (upper.includes(word) || (word.length > 4 && upper.startsWith(word.slice(0, -1)))) return found?.slice(prefix.length);
  }
  return GENERAL.test(field) ? general : undefined;
}

// The same where all names of the meaning begin alike: "striker" for ROLE_ and 2.
export function wordOf(shape: Shape, prefix: string, value: number): string {
  const found = shape.constants.find((c) => c.name.startsWith(prefix) && c.value === value);
  return found ? found.name.slice(prefix.length).toLowerCase().replaceAll("_", " ") : String(value);
}

// "pose.pose.position.x" or "bodies[2].twist.linear.x" of a message; a list can be asked by a member: mates[:]{player=2}
export function valueAt(message: any, path: string): any {
  let at = message;
  for (const part of path.split(/\.|(?=\[)/)) {
    if (at === undefined || at === null) return undefined;
    if (part === "") continue;
    at = part[0] === "[" ? at[Number(part.slice(1, -1))] : at[part];
  }
  return at;
}
export const numberAt = (message: any, path: string): number => {
  const v = valueAt(message, path);
  if (typeof v === "number") return v;
  if (typeof v === "boolean") return v ? 1 : 0;
  if (v && typeof v === "object" && "sec" in v && "nanosec" in v) return v.sec + v.nanosec * 1e-9;
  return NaN;
};

// Every numeric path of a message, as it is now: lists with as many elements as they have.
export function numericPaths(schema: Schema, message: Message | undefined, most = 400): string[] {
  const paths: string[] = [];
  const visit = (shape: Shape, value: any, prefix: string, depth: number) => {
    for (const f of shape.fields) {
      if (paths.length >= most) return;
      const at = prefix + f.name;
      const v = value?.[f.name];
      const one = (path: string, item: any) => {
        if (isNumeric(f.type)) paths.push(path);
        else if (f.type !== "string" && f.type !== "wstring" && depth < 8) {
          const inner = schema.shapes.get(f.type);
          if (inner?.name === "builtin_interfaces/Time" || inner?.name === "builtin_interfaces/Duration") paths.push(path);
          else if (inner) visit(inner, item, `${path}.`, depth + 1);
        }
      };
      if (f.array === undefined) one(at, v);
      else if (v) for (let i = 0; i < Math.min(v.length, 32); i++) one(`${at}[${i}]`, v[i]);
    }
  };
  visit(schema.root, message, "", 0);
  return paths;
}
