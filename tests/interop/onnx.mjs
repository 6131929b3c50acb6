// Runs networks that random_nets.c wrote with onnxruntime and compares: every operator, the file's structure, the shapes.
//   node onnx.mjs RANDOM_NETS FOLDER COUNT
import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import ort from "onnxruntime-web";

const [program, folder, count] = process.argv.slice(2);
ort.env.wasm.numThreads = 1;
ort.env.logLevel = "error";
let compared = 0;
for (let seed = 1; seed <= Number(count); seed++) {
  execFileSync(program, [folder, String(seed)]);
  const values = new Map();
  for (const line of readFileSync(`${folder}/net.txt`, "utf8").trim().split("\n")) {
    const [name, ...numbers] = line.split(" ");
    values.set(name, Float32Array.from(numbers, Number));
  }
  const session = await ort.InferenceSession.create(readFileSync(`${folder}/net.onnx`), { executionProviders: ["wasm"] });
  const feeds = {};
  for (const name of session.inputNames) feeds[name] = new ort.Tensor("float32", values.get(name), [1, values.get(name).length]);
  const results = await session.run(feeds);
  for (const name of session.outputNames) {
    const theirs = results[name].data, ours = values.get(name);
    if (theirs.length !== ours.length) throw new Error(`seed ${seed}, ${name}: ${ours.length} numbers, onnxruntime has ${theirs.length}`);
    const size = theirs.reduce((most, x) => Math.max(most, Math.abs(x)), 1);
    theirs.forEach((x, i) => {
      if (!(Math.abs(x - ours[i]) <= 1e-4 * size)) throw new Error(`seed ${seed}, ${name}[${i}]: ${ours[i]}, onnxruntime has ${x}`);
      compared++;
    });
  }
  await session.release();
}
if (!compared) throw new Error("nothing was compared");
console.log(`${count} networks, ${compared} numbers`);
