// How messages of a log are read: ROS 2 (cdr), ROS 1, JSON and Protocol Buffers, each with the form of schema that MCAP
// files of other programs have.
import { type Field, type Message, parseSchema, type Schema, type Shape } from "./schema";

export interface SchemaRecord {
  name: string;
  encoding: string; // of the schema
  data: Uint8Array;
}
const text = new TextDecoder();
const FORMS: Record<string, (schema: SchemaRecord) => Schema> = {
  "cdr ros2msg": (s) => parseSchema(s.name, text.decode(s.data)),
  "ros1 ros1msg": (s) => parseSchema(s.name, text.decode(s.data), false),
  "protobuf protobuf": protobuf,
  "json jsonschema": json,
  "json ": json,
};
// undefined: nobody here can read it
export function schemaMaker(encoding: string, schema: SchemaRecord): (() => Schema) | undefined {
  const make = FORMS[`${encoding} ${schema.encoding}`];
  return make && (() => make(schema));
}

// ---- JSON ----

const KINDS: Record<string, string> = { number: "float64", integer: "int64", string: "string", boolean: "bool" };
function json(schema: SchemaRecord): Schema {
  const shapes = new Map<string, Shape>();
  const made: Schema = { name: schema.name, root: { name: schema.name, fields: [], constants: [] }, shapes, read };
  const add = (shape: Shape, name: string, kind: string, array: boolean, inside: (to: Shape) => void) => {
    const type = KINDS[kind] ?? `${shape.name}.${name}`;
    const field: Field = { name, type };
    if (array) field.array = "list";
    if (!KINDS[kind]) {
      const inner: Shape = { name: type, fields: [], constants: [] };
      shapes.set(type, inner);
      inside(inner);
    }
    shape.fields.push(field);
  };
  const bySchema = (shape: Shape, s: any, depth: number) => {
    for (const [name, p] of Object.entries<any>(s?.properties ?? {})) {
      const one = p.type === "array" ? p.items : p;
      if (depth < 8) add(shape, name, one?.contentEncoding ? "string" : (one?.type ?? "object"), p.type === "array", (to) => bySchema(to, one, depth + 1));
    }
  };
  // without a schema the first message shows what there is
  const byValue = (shape: Shape, value: any, depth: number) => {
    for (const [name, v] of Object.entries<any>(value ?? {})) {
      const one = Array.isArray(v) ? v[0] : v;
      if (depth < 8) add(shape, name, typeof one, Array.isArray(v), (to) => byValue(to, one, depth + 1));
    }
  };
  try {
    bySchema(made.root, JSON.parse(text.decode(schema.data) || "{}"), 0);
  } catch {}
  function read(bytes: Uint8Array): Message {
    const value = JSON.parse(text.decode(bytes));
    if (!made.root.fields.length) byValue(made.root, value, 0);
    return value;
  }
  return made;
}

// ---- Protocol Buffers: a FileDescriptorSet describes the messages ----

// The fields of one message: number, and a whole number or bytes.
function* parts(bytes: Uint8Array): Generator<[number, bigint | Uint8Array, number]> {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  let at = 0;
  const whole = (): bigint => {
    let value = 0n;
    for (let shift = 0n; shift < 70n; shift += 7n) {
      const b = view.getUint8(at++);
      value |= BigInt(b & 127) << shift;
      if (b < 128) return value & 0xffffffffffffffffn;
    }
    throw new RangeError("a number is too long");
  };
  while (at < bytes.length) {
    const key = Number(whole());
    const wire = key & 7;
    if (wire === 0) yield [key >>> 3, whole(), wire];
    else {
      const n = wire === 1 ? 8 : wire === 5 ? 4 : wire === 2 ? Number(whole()) : -1;
      if (n < 0 || n > bytes.length - at) throw new RangeError("a message is broken");
      at += n;
      yield [key >>> 3, bytes.subarray(at - n, at), wire];
    }
  }
}
// google.protobuf.FieldDescriptorProto.Type
const TYPES = ["", "float64", "float32", "int64", "uint64", "int32", "uint64", "uint32", "bool", "string", "", "", "uint8", "uint32", "int32", "int32", "int64", "int32", "int64"];
const [FIXED64, FIXED32, STRING, MESSAGE, BYTES, SFIXED32, SFIXED64, SINT32, SINT64] = [6, 7, 9, 11, 12, 15, 16, 17, 18];
interface Entry {
  field: Field;
  kind: number;
}
function protobuf(schema: SchemaRecord): Schema {
  const shapes = new Map<string, Shape>();
  const entries = new Map<string, Map<number, Entry>>();
  const word = (v: bigint | Uint8Array) => text.decode(v as Uint8Array);
  const message = (bytes: Uint8Array, scope: string) => {
    const list = [...parts(bytes)];
    const name = `${scope}${word(list.find(([n]) => n === 1)![1])}`;
    const shape: Shape = { name, fields: [], constants: [] };
    const byNumber = new Map<number, Entry>();
    for (const [n, value] of list) {
      if (n === 3) message(value as Uint8Array, `${name}.`);
      if (n !== 2) continue;
      const f = new Map([...parts(value as Uint8Array)].map(([k, v]) => [k, v]));
      const kind = Number(f.get(5) ?? 0);
      const field: Field = { name: word(f.get(1)!), type: kind === MESSAGE ? word(f.get(6)!).replace(/^\./, "") : TYPES[kind] };
      if (f.get(4) === 3n || kind === BYTES) field.array = "list";
      shape.fields.push(field);
      byNumber.set(Number(f.get(3)), { field, kind });
    }
    shapes.set(name, shape);
    entries.set(name, byNumber);
  };
  for (const [n, file] of parts(schema.data)) {
    if (n !== 1) continue;
    const list = [...parts(file as Uint8Array)];
    const of = list.find(([k]) => k === 2);
    for (const [k, value] of list) if (k === 4) message(value as Uint8Array, of ? `${word(of[1])}.` : "");
  }
  const root = shapes.get(schema.name);
  if (!root) throw new Error(`the definition of ${schema.name} is missing`);
  for (const type of ["Timestamp", "Duration"]) {
    const shape = shapes.get(`google.protobuf.${type}`);
    if (shape) Object.assign(shape, { name: `builtin_interfaces/${type === "Timestamp" ? "Time" : "Duration"}`, fields: ["sec", "nanosec"].map((name) => ({ name, type: "int64" })) });
  }
  const number = (kind: number, v: bigint | Uint8Array): number | boolean => {
    if (v instanceof Uint8Array) {
      const view = new DataView(v.buffer, v.byteOffset, v.byteLength);
      if (v.length === 4) return kind === SFIXED32 ? view.getInt32(0, true) : kind === FIXED32 ? view.getUint32(0, true) : view.getFloat32(0, true);
      return kind === SFIXED64 ? Number(view.getBigInt64(0, true)) : kind === FIXED64 ? Number(view.getBigUint64(0, true)) : view.getFloat64(0, true);
    }
    if (kind === SINT32 || kind === SINT64) return Number((v >> 1n) ^ -(v & 1n));
    if (TYPES[kind] === "bool") return v !== 0n;
    return Number(TYPES[kind].startsWith("u") ? v : BigInt.asIntN(64, v));
  };
  const packed = (kind: number, bytes: Uint8Array): (number | boolean)[] => {
    const width = [1, FIXED64, SFIXED64].includes(kind) ? 8 : [2, FIXED32, SFIXED32].includes(kind) ? 4 : 0;
    if (width) return Array.from({ length: Math.floor(bytes.length / width) }, (_, i) => number(kind, bytes.subarray(i * width, (i + 1) * width)));
    const list: (number | boolean)[] = [];
    for (let at = 0; at < bytes.length; ) {
      let value = 0n;
      for (let shift = 0n; ; shift += 7n) {
        const b = bytes[at++];
        value |= BigInt(b & 127) << shift;
        if (!(b >= 128) || shift > 63n) break;
      }
      list.push(number(kind, value & 0xffffffffffffffffn));
    }
    return list;
  };
  const read = (bytes: Uint8Array, name: string, depth: number): Message => {
    const known = entries.get(name);
    if (!known || depth > 32) throw new Error(`the definition of ${name} is missing`);
    const to: Message = {};
    for (const { field, kind } of known.values()) to[field.name] = kind === BYTES ? new Uint8Array(0) : field.array ? [] : kind === STRING ? "" : kind === MESSAGE ? undefined : TYPES[kind] === "bool" ? false : 0;
    for (const [n, value, wire] of parts(bytes)) {
      const entry = known.get(n);
      if (!entry) continue;
      const { field, kind } = entry;
      if (field.array && wire === 2 && kind !== STRING && kind !== MESSAGE && kind !== BYTES) {
        to[field.name].push(...packed(kind, value as Uint8Array));
        continue;
      }
      const one = kind === STRING ? word(value) : kind === BYTES ? value : kind === MESSAGE ? read(value as Uint8Array, field.type, depth + 1) : number(kind, value);
      if (field.array && kind !== BYTES) to[field.name].push(one);
      else to[field.name] = one;
    }
    if (/^google\.protobuf\.(Timestamp|Duration)$/.test(name)) return { sec: to.seconds, nanosec: to.nanos };
    return to;
  };
  return { name: schema.name, root, shapes, read: (bytes) => read(bytes, schema.name, 0) };
}
