// Reads our log with @mcap/core, strictly: as a stream with every CRC checked, and by its index, which must agree; then one
// changed byte must be noticed. Writes the same again with McapWriter for random_logs.c to read.
//   node mcap.mjs OURS THEIRS PACKING
import { readFileSync, writeFileSync } from "node:fs";
import { McapIndexedReader, McapStreamReader, McapWriter } from "@mcap/core";
import lz4 from "@foxglove/wasm-lz4";
import zstd from "@foxglove/wasm-zstd";

const [ours, theirs, packing] = process.argv.slice(2);
await Promise.all([lz4.isLoaded, zstd.isLoaded]);
const decompressHandlers = {
  lz4: (buffer, size) => lz4(buffer, Number(size)),
  zstd: (buffer, size) => zstd.decompress(buffer, Number(size)),
};

function stream(bytes) {
  const reader = new McapStreamReader({ validateCrcs: true, includeChunks: true, decompressHandlers });
  const records = [];
  reader.append(bytes);
  for (let record; (record = reader.nextRecord()); ) records.push(record);
  if (!reader.done()) throw new Error("no footer or magic");
  return records;
}

const bytes = readFileSync(ours);
const records = stream(bytes);
const count = (type) => records.filter((r) => r.type === type).length;

const readable = {
  size: async () => BigInt(bytes.length),
  read: async (offset, size) => new Uint8Array(bytes.subarray(Number(offset), Number(offset + size))),
};
const indexed = await McapIndexedReader.Initialize({ readable, decompressHandlers });
let n = 0;
let last = 0n;
for await (const message of indexed.readMessages()) {
  if (message.logTime < last) throw new Error("not in the order of time");
  last = message.logTime;
  n++;
}
const { statistics } = indexed;
if (n !== count("Message") || BigInt(n) !== statistics.messageCount) throw new Error("index and statistics differ");
if (statistics.chunkCount !== count("Chunk") || indexed.chunkIndexes.length !== statistics.chunkCount) throw new Error("chunks");
if (statistics.attachmentCount !== count("Attachment") || statistics.metadataCount !== count("Metadata")) throw new Error("extras");
if (indexed.header.profile !== "ros2") throw new Error("profile");

// one byte in the middle of a chunk, one in the summary
for (const at of [Number(indexed.chunkIndexes[0].chunkStartOffset) + 200, bytes.length - 60]) {
  const broken = Buffer.from(bytes);
  broken[at] ^= 1;
  let noticed = false;
  try {
    stream(broken);
  } catch {
    noticed = true;
  }
  if (!noticed) throw new Error(`a changed byte at ${at} is not noticed: are there CRCs?`);
}

// the same, written by them
const parts = [];
let written = 0n;
const writable = {
  write: async (buffer) => (parts.push(Buffer.from(buffer)), (written += BigInt(buffer.byteLength))),
  position: () => written,
};
const compressChunk = { 2: (data) => ({ compression: "zstd", compressedData: zstd.compress(data, 3) }) }[packing];
const writer = new McapWriter({ writable, chunkSize: 50000, compressChunk });
const schemas = new Map();
const channels = new Map();
await writer.start({ profile: "ros2", library: "interop" });
for (const record of records) {
  if (record.type === "DataEnd") break;
  if (record.type === "Schema") schemas.set(record.id, await writer.registerSchema(record));
  if (record.type === "Channel")
    channels.set(record.id, await writer.registerChannel({ ...record, schemaId: schemas.get(record.schemaId) }));
  if (record.type === "Message") await writer.addMessage({ ...record, channelId: channels.get(record.channelId) });
  if (record.type === "Attachment") await writer.addAttachment(record);
  if (record.type === "Metadata") await writer.addMetadata(record);
}
await writer.end();
writeFileSync(theirs, Buffer.concat(parts));
console.log(`@mcap/core reads ${n} messages in ${statistics.chunkCount} chunks and writes them again`);
