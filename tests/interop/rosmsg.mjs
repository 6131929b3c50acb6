// Reads our messages by our schema texts with @foxglove/rosmsg2-serialization and writes them again: the same bytes. Then
// fills the same shapes with values of its own for random_messages.c to check.
//   node rosmsg.mjs OURS THEIRS
import { readFileSync, writeFileSync } from "node:fs";
import { parse } from "@foxglove/rosmsg";
import { MessageReader, MessageWriter } from "@foxglove/rosmsg2-serialization";

const [ours, theirs] = process.argv.slice(2);

function* records(file) {
  const bytes = readFileSync(file);
  let at = 0;
  const part = () => {
    const length = bytes.readUInt32LE(at);
    at += 4 + length;
    return bytes.subarray(at - length, at);
  };
  while (at < bytes.length) yield { name: part().toString(), schema: part().toString(), data: Uint8Array.from(part()) };
}

const parts = (...list) => list.flatMap((p) => [Buffer.from(Uint32Array.of(p.length).buffer), Buffer.from(p)]);

// mulberry32
let state = 20261115;
const random = () => {
  state = (state + 0x6d2b79f5) | 0;
  let t = Math.imul(state ^ (state >>> 15), 1 | state);
  t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
  return (t ^ (t >>> 14)) >>> 0;
};
const wide = new DataView(new ArrayBuffer(8));
const bits = () => (wide.setUint32(0, random()), wide.setUint32(4, random()), wide);
const finite = (x) => (Number.isNaN(x) ? 0.5 : x);

const values = {
  bool: () => random() % 2 === 1,
  int8: () => bits().getInt8(0),
  uint8: () => bits().getUint8(0),
  int16: () => bits().getInt16(0),
  uint16: () => bits().getUint16(0),
  int32: () => bits().getInt32(0),
  uint32: () => bits().getUint32(0),
  int64: () => bits().getBigInt64(0),
  uint64: () => bits().getBigUint64(0),
  float32: () => finite(bits().getFloat32(0)),
  float64: () => finite(bits().getFloat64(0)),
  // no longer than ours was, since room is no part of a schema
  string: (old) => Array.from({ length: random() % (old.length + 1) }, () => String.fromCharCode(32 + (random() % 95))).join(""),
  time: () => ({ sec: bits().getInt32(0), nanosec: bits().getUint32(0) }),
};
values.duration = values.time;

function scramble(definitions, fields, message) {
  for (const field of fields) {
    if (field.isConstant) continue;
    const nested = field.isComplex && definitions.find((d) => d.name === field.type).definitions;
    const change = (old) => (nested ? scramble(definitions, nested, old) : values[field.type](old));
    message[field.name] = field.isArray ? Array.from(message[field.name], change) : change(message[field.name]);
  }
  return message;
}

const types = new Set(), left = new Set(), out = [];
let messages = 0;
for (const { name, schema, data } of records(ours)) {
  const definitions = parse(schema, { ros2: true });
  const root = definitions[0].definitions;
  if (root.length && root.every((field) => field.isConstant)) {
    left.add(name); // the peer takes a type of constants only for an IDL module
    continue;
  }
  const reader = new MessageReader(definitions), writer = new MessageWriter(definitions);
  const message = reader.readMessage(data);
  if (reader.lastReadByteLength() !== data.length) throw new Error(`${name}: read ${reader.lastReadByteLength()} of ${data.length} bytes`);
  if (Buffer.compare(writer.writeMessage(message), data)) throw new Error(`${name}: written again, the bytes differ`);
  out.push(...parts(name, "", writer.writeMessage(scramble(definitions, root, message))));
  types.add(name);
  messages++;
}
if (!messages) throw new Error(`${ours}: no messages`);
writeFileSync(theirs, Buffer.concat(out));
console.log(`${messages} messages of ${types.size} types read and written to the same bytes; constants only: ${[...left].join(", ") || "none"}`);
