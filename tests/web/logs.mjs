// Logs of other programs in the page. Files with their traits are written by @mcap/core, dropped on the page, and what the
// page shows is compared with what was written.
//   logs.mjs NUTMEG ROOT
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { faults, open, serve } from "../../web/stage.mjs";

const [nutmeg, root] = process.argv.slice(2);
const peers = createRequire(`${root}/tests/interop/package.json`);
const { McapWriter } = peers("@mcap/core");
const zstd = peers("@foxglove/wasm-zstd");
const { MessageWriter } = peers("@foxglove/rosmsg2-serialization");
const { parse } = peers("@foxglove/rosmsg");
await zstd.isLoaded;
const bytes = (text) => new TextEncoder().encode(text);
const N = 40; // messages, 0.1 s apart
const BEGIN = 1000n * 1000000000n; // ns

// ---- files ----

// An LZ4 frame with one block: every match of four bytes or more that was seen before.
function lz4(data) {
  const out = [0x04, 0x22, 0x4d, 0x18, 0x60, 0x40, 0x82, 0, 0, 0, 0];
  const seen = new Map();
  const more = (n) => {
    for (n -= 15; n >= 255; n -= 255) out.push(255);
    out.push(n);
  };
  let from = 0;
  const put = (upto, match, back) => {
    const literals = upto - from;
    out.push((Math.min(literals, 15) << 4) | Math.min(Math.max(match - 4, 0), 15));
    if (literals >= 15) more(literals);
    for (let k = from; k < upto; k++) out.push(data[k]);
    if (!match) return;
    out.push(back & 255, back >> 8);
    if (match >= 19) more(match - 4);
    from = upto + match;
  };
  for (let i = 0; i + 12 < data.length; i++) {
    if (i < from) continue;
    const key = data[i] | (data[i + 1] << 8) | (data[i + 2] << 16) | (data[i + 3] << 24);
    const at = seen.get(key);
    seen.set(key, i);
    if (at === undefined || i - at > 65535) continue;
    let n = 4;
    while (i + n < data.length - 5 && data[at + n] === data[i + n]) n++;
    put(i, n, i - at);
  }
  put(data.length, 0, 0);
  const size = out.length - 11;
  out.splice(7, 4, size & 255, (size >> 8) & 255, (size >> 16) & 255, 0);
  return Uint8Array.from([...out, 0, 0, 0, 0]);
}
// Protocol Buffers, as their specification says.
const varint = (n) => {
  const out = [];
  for (n = BigInt.asUintN(64, BigInt(n)); n > 127n; n >>= 7n) out.push(Number(n & 127n) | 128);
  return [...out, Number(n)];
};
const proto = (...fields) =>
  fields.flatMap(([number, value]) => {
    if (typeof value === "number" && Number.isInteger(value)) return [...varint(number << 3), ...varint(value)];
    if (typeof value === "number") return [...varint((number << 3) | 1), ...new Uint8Array(new Float64Array([value]).buffer)];
    const body = typeof value === "string" ? [...bytes(value)] : value;
    return [...varint((number << 3) | 2), ...varint(body.length), ...body];
  });
const DOUBLE = 1, INT32 = 5, STRING = 9, MESSAGE = 11;
const describe = (name, number, type, label = 1, of = "") => [2, proto([1, name], [3, number], [4, label], [5, type], ...(of ? [[6, of]] : []))];
const described = proto([
  1,
  proto(
    [2, "demo"],
    [4, proto([1, "Thing"], describe("number", 1, DOUBLE), describe("text", 2, STRING), describe("list", 3, INT32, 3), describe("inner", 4, MESSAGE, 1, ".demo.Inner"))],
    [4, proto([1, "Inner"], describe("deep", 1, INT32))],
  ),
]);

const definition = "float64 number\nstring text\nint32[] list\nInner inner\n================================================================================\nMSG: demo/Inner\nint32 deep";
const value = (i) => ({ number: i + 0.5, text: `message ${i}`, list: [i, -i, 7], inner: { deep: -i } });
function ros1(v) {
  const out = Buffer.alloc(8 + 4 + v.text.length + 4 + 12 + 4);
  let at = out.writeDoubleLE(v.number);
  at = out.writeUInt32LE(v.text.length, at);
  at += out.write(v.text, at);
  at = out.writeUInt32LE(v.list.length, at);
  for (const n of [...v.list, v.inner.deep]) at = out.writeInt32LE(n, at);
  return out;
}
const cdr = new MessageWriter(parse(definition, { ros2: true }));
const FORMS = {
  cdr: { schema: ["demo/msg/Thing", "ros2msg", bytes(definition)], write: (v) => cdr.writeMessage(v) },
  ros1: { schema: ["demo/Thing", "ros1msg", bytes(definition)], write: ros1 },
  json: {
    schema: ["Thing", "jsonschema", bytes('{"type":"object","properties":{"number":{"type":"number"},"text":{"type":"string"},"list":{"type":"array","items":{"type":"integer"}},"inner":{"type":"object","properties":{"deep":{"type":"integer"}}}}}')],
    write: (v) => bytes(JSON.stringify(v)),
  },
  protobuf: {
    schema: ["demo.Thing", "protobuf", Uint8Array.from(described)],
    write: (v) => Uint8Array.from(proto([1, v.number], [2, v.text], [3, v.list.flatMap((n) => varint(n))], [4, proto([1, v.inner.deep])])),
  },
};
async function write(messages, options = {}) {
  const parts = [];
  let size = 0n;
  const writable = {
    position: () => size,
    write: async (b) => {
      parts.push(b.slice());
      size += BigInt(b.length);
    },
  };
  const writer = new McapWriter({ writable, chunkSize: 512, ...options });
  await writer.start({ profile: "", library: "another" });
  const channels = new Map();
  for (const { topic, encoding, schema, time, data } of messages) {
    if (!channels.has(topic)) {
      const schemaId = schema ? await writer.registerSchema({ name: schema[0], encoding: schema[1], data: schema[2] }) : 0;
      channels.set(topic, await writer.registerChannel({ topic, schemaId, messageEncoding: encoding, metadata: new Map() }));
    }
    await writer.addMessage({ channelId: channels.get(topic), sequence: 0, logTime: time, publishTime: time, data });
  }
  await writer.end();
  return Buffer.concat(parts);
}
const things = (encoding, order = [...Array(N).keys()]) =>
  order.map((i) => ({ topic: "/thing", encoding, schema: FORMS[encoding].schema, time: BEGIN + BigInt(i) * 100000000n, data: FORMS[encoding].write(value(i)) }));

// ---- the page ----

const address = await serve(nutmeg, ["run", "play", "--live", "0", "--seconds", "900"], root).url;
const page = await open(`${address}#view=behaviour`);
process.on("uncaughtException", async (error) => {
  console.log(`failed: ${error.stack}\n${faults.join("\n")}`);
  await page.screenshot({ path: `${root}/out/logs-failed.png` }).catch(() => {});
  process.exit(1);
});

async function drop(name, ...list) {
  await page.evaluate(
    ([name, list]) => {
      const files = new DataTransfer();
      for (const data of list) files.items.add(new File([Uint8Array.from(atob(data), (c) => c.charCodeAt(0))], name));
      document.querySelector("main").dispatchEvent(new DragEvent("drop", { dataTransfer: files, bubbles: true, cancelable: true }));
    },
    [name, list.map((file) => file.toString("base64"))],
  );
}
const shows = (selector, text) =>
  page.waitForFunction(([s, t]) => document.querySelector(s)?.textContent.trim() === t, [selector, text]).catch(async () => {
    assert.equal(await page.locator(selector).first().textContent(), text);
  });
async function add(kind) {
  await page.click("[data-menu=panels]");
  await page.click(`[data-add=${kind}]`);
}
async function pick(panel, words, what, nth = 0) {
  await page.locator(`[data-panel=${panel}] .picker input`).nth(nth).fill(words);
  await page.click(`[data-panel=${panel}] [data-pick='${what}']`);
}
async function seek(seconds) {
  await page.locator("[data-test=track]").click({ position: { x: 1, y: 10 } });
  for (let i = 0; i < seconds; i++) await page.keyboard.press("Shift+ArrowRight");
}

await page.waitForSelector("[data-robot]");
await add("raw");
await drop("first.mcap", await write(things("cdr")));
await page.waitForSelector("[data-robot=first]");
await pick("raw", "thing", "/thing");

const shuffled = [...Array(N).keys()].map((i) => (i % 8 === 3 ? i + 4 : i % 8 === 7 ? i - 4 : i));
const files = {
  "cdr, LZ4, without an index": [things("cdr"), { compressChunk: (d) => ({ compression: "lz4", compressedData: lz4(d) }), useChunkIndex: false, useMessageIndex: false }],
  "cdr, zstd, without a repeated list of channels": [things("cdr"), { compressChunk: (d) => ({ compression: "zstd", compressedData: zstd.compress(d, 3) }), repeatChannels: false, repeatSchemas: false }],
  "cdr in chunks that overlap": [things("cdr", shuffled), { chunkSize: 256 }],
  "ROS 1 without chunks": [things("ros1"), { useChunks: false, useStatistics: false, useSummaryOffsets: false }],
  "JSON with a schema": [things("json"), {}],
  "JSON without a schema": [things("json").map((m) => ({ ...m, schema: undefined })), { useChunks: false }],
  "Protocol Buffers": [things("protobuf"), { compressChunk: (d) => ({ compression: "lz4", compressedData: lz4(d) }) }],
};
let serial = 0;
for (const [what, [messages, options]] of Object.entries(files)) {
  const name = `log${serial++}`;
  await drop(`${name}.mcap`, await write(messages, options));
  await page.waitForSelector(`[data-robot=${name}]`);
  for (const seconds of [2, 1, 3]) {
    await seek(seconds);
    const v = value(10 * seconds);
    await shows("[data-panel=raw] [data-path='number']", String(v.number));
    await shows("[data-panel=raw] [data-path='text']", v.text);
    await shows("[data-panel=raw] [data-path='list[1]']", String(v.list[1]));
    await shows("[data-panel=raw] [data-path='inner.deep']", String(v.inner.deep));
  }
  console.log(`ok ${what}`);
}

// a file that was cut off is read as far as it goes; what is no log says so; unknown encodings are named
const whole = await write(things("cdr"), { chunkSize: 256 });
await drop("cut.mcap", whole.subarray(0, Math.floor(whole.length * 0.6)));
await page.waitForSelector("[data-robot=cut]");
await seek(1);
await shows("[data-panel=raw] [data-path='number']", "10.5");
await drop("picture.mcap", Buffer.from("this is no log, but it is long enough to be one for a moment"));
await page.waitForSelector(".toast.error:has-text('picture is not an MCAP file')");
const odd = { topic: "/odd", encoding: "flatbuffer", schema: ["Odd", "flatbuffer", bytes("x")], time: BEGIN, data: bytes("x") };
await drop("odd.mcap", await write([...things("cdr"), odd]));
await page.waitForSelector(".toast:has-text('/odd (flatbuffer, flatbuffer)')");
console.log("ok what cannot be read says so");

// two logs of one robot, on different days, lie side by side; the lines of a log are all there, whatever was read first
const lines = things("cdr").map((m, i) => ({ ...m, topic: "/rosout", encoding: "json", schema: undefined, data: bytes(JSON.stringify({ level: 20, name: "me", msg: `line ${i}.` })) }));
const later = things("cdr").map((m, i) => ({ ...m, time: m.time + 86400n * 1000000000n, data: FORMS.cdr.write(value(100 + i)) }));
await drop("twin1.mcap", await write([...things("cdr"), ...lines].sort((a, b) => Number(a.time - b.time)), { chunkSize: 128 }), await write(later));
await page.waitForSelector("[data-robot=twin1b]");
await seek(3);
await shows("[data-panel=raw] [data-path='number']", "30.5");
await page.click("[data-robot=twin1b]");
await shows("[data-panel=raw] [data-path='number']", "130.5");
await add("log");
await page.waitForFunction(() => ["line 0.", "line 17.", "line 30."].every((text) => document.querySelector("[data-panel=log]").textContent.includes(text)));
assert.ok(!(await page.locator("[data-panel=log]").textContent()).includes("line 31."));
await page.click("[data-robot=twin1]");
console.log("ok two logs side by side");

// graph and CSV, XY and histogram: the values of the log itself
await seek(3);
await add("graph");
await pick("graph", "thing number", "/thing.number");
await shows("[data-value='thing.number']", "30.5");
await page.waitForTimeout(500);
const [saved] = await Promise.all([page.waitForEvent("download"), page.click("[data-panel=graph] button:has-text('CSV')")]);
const rows = readFileSync(await saved.path(), "utf8").trim().split("\n");
assert.equal(rows[0], "time,value,series");
const got = new Map(rows.slice(1).map((r) => [Number(r.split(",")[0]), Number(r.split(",")[1])]));
for (let i = 0; i <= 30; i++) assert.equal(got.get(Number((1000 + i / 10).toFixed(6))), i + 0.5);
await add("histogram");
await pick("histogram", "thing number", "/thing.number");
await pick("histogram", "thing deep", "/thing.inner.deep");
await page.waitForFunction(() => document.querySelector("[data-panel=histogram] canvas")?.dataset.points === "31");
const filled = await page.evaluate(() => {
  const canvas = document.querySelector("[data-panel=histogram] canvas");
  const { data } = canvas.getContext("2d").getImageData(60, 10, canvas.width - 70, canvas.height - 34);
  const w = canvas.width - 70;
  const h = canvas.height - 34;
  const at = (x, y) => data[4 * (Math.floor(y * (h - 1)) * w + Math.floor(x * (w - 1))) + 3];
  // the values lie on the falling diagonal: its ends are filled, the other corners are not
  let [down, up] = [0, 0];
  for (let s = 0.06; s < 0.94; s += 0.005) {
    down += at(s, s) > 0;
    up += at(s, 1 - s) > 0;
  }
  return { down, up };
});
assert.ok(filled.down > 4 * filled.up && filled.down > 20, JSON.stringify(filled));
console.log("ok graph, CSV and histogram");

// markers in three dimensions: a red cube that lives for a second, in a frame that nobody knows
const folder = `${root}/msg`;
const seen = new Map();
const message = (type) => {
  if (seen.has(type)) return;
  const text = readFileSync(`${folder}/${type}.msg`, "utf8");
  seen.set(type, text);
  for (const [, of] of text.matchAll(/^([A-Za-z]\w*(?:\/\w+)?)(?:\[\S*\])?\s+\w+/gm)) {
    const full = of.includes("/") ? of : `${type.split("/")[0]}/${of}`;
    if (/[A-Z]/.test(of)) message(full);
  }
};
message("visualization_msgs/MarkerArray");
const [first, ...others] = [...seen];
const markerText = [first[1], ...others.map(([type, text]) => `${"=".repeat(80)}\nMSG: ${type}\n${text}`)].join("\n");
const markerWriter = new MessageWriter(parse(markerText, { ros2: true }));
const marker = (action) => ({
  header: { stamp: { sec: 1000, nanosec: 0 }, frame_id: "somewhere" },
  ns: "test",
  id: 1,
  type: 1,
  action,
  pose: { position: { x: 0, y: 0, z: 1 }, orientation: { x: 0, y: 0, z: 0, w: 1 } },
  scale: { x: 3, y: 3, z: 2 },
  color: { r: 1, g: 0, b: 0, a: 1 },
});
const marked = (time, action) => ({
  topic: "/shapes",
  encoding: "cdr",
  schema: ["visualization_msgs/msg/MarkerArray", "ros2msg", bytes(markerText)],
  time: BEGIN + BigInt(time) * 1000000000n,
  data: markerWriter.writeMessage({ markers: [marker(action)] }),
});
const shapes = await write([marked(1, 0), marked(2, 2), ...things("cdr")].sort((a, b) => Number(a.time - b.time)));
await page.goto(`${address}#view=match`);
await page.reload();
await page.waitForSelector("[data-robot]");
await drop("shapes.mcap", shapes);
await page.waitForSelector("[data-robot=shapes]");
async function red() {
  const shot = (await page.locator("[data-panel=scene] canvas").screenshot()).toString("base64");
  return page.evaluate(async (data) => {
    const bitmap = await createImageBitmap(new Blob([Uint8Array.from(atob(data), (c) => c.charCodeAt(0))]));
    const canvas = new OffscreenCanvas(bitmap.width, bitmap.height);
    const pen = canvas.getContext("2d");
    pen.drawImage(bitmap, 0, 0);
    const p = pen.getImageData(0, 0, canvas.width, canvas.height).data;
    let n = 0;
    for (let i = 0; i < p.length; i += 4) n += p[i] > 120 && p[i + 1] < 60 && p[i + 2] < 60;
    return n / (p.length / 4);
  }, shot);
}
for (const [seconds, count] of [[0, 0], [1, 1], [2, 0], [1, 1]]) {
  await seek(seconds);
  await page.keyboard.press("ArrowRight");
  await page.waitForFunction((n) => document.querySelector("[data-panel=scene] canvas")?.dataset.markers === String(n), count);
  const share = await red();
  assert.ok(count ? share > 0.02 : share < 0.01, `${share} of the picture is red after ${seconds} s`);
}
console.log("ok markers come, go, and come back with time");
assert.deepEqual(faults, []);
process.exit(0);
