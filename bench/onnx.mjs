// Measures a network with onnxruntime on one thread: CPU time of a run, as `nutmeg nn bench` has it.
//   node onnx.mjs FILE N C H W [RUNS]
import { createRequire } from "node:module";

const ort = createRequire(new URL("../tests/interop/package.json", import.meta.url))("onnxruntime-node");
const [file, ...dims] = process.argv.slice(2);
const session = await ort.InferenceSession.create(file, { logSeverityLevel: 3, intraOpNumThreads: 1, interOpNumThreads: 1 });
const shape = dims.slice(0, 4).map(Number), runs = Number(dims[4] ?? 300), n = shape.reduce((a, b) => a * b, 1);
const feeds = { [session.inputNames[0]]: new ort.Tensor("float32", Float32Array.from({ length: n }, (_, i) => Math.sin(i)), shape) };
const took = [];
for (let i = 0; i < runs; i++) {
  const before = process.cpuUsage();
  await session.run(feeds);
  const { user, system } = process.cpuUsage(before);
  took.push(user + system);
}
took.sort((a, b) => a - b);
console.log(`onnxruntime: median ${took[runs >> 1]} us, best ${took[0]} us`);
