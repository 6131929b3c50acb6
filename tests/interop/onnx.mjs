// Runs networks that random_nets.c wrote with onnxruntime and compares: every operator, the file's structure, the shapes.
//   node onnx.mjs RANDOM_NETS FOLDER COUNT [FIRST]
import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import ort from "onnxruntime-node";

const [program, folder, count, first] = process.argv.slice(2);
const operators = new Map();
let compared = 0;
for (let seed = Number(first ?? 1); seed < Number(first ?? 1) + Number(count); seed++) {
  execFileSync(program, [folder, String(seed)]);
  const values = new Map();
  for (const line of readFileSync(`${folder}/net.txt`, "utf8").trim().split("\n")) {
    const [name, shape, ...numbers] = line.split(" ");
    values.set(name, { shape: shape ? shape.split(",").map(Number) : [], data: Float32Array.from(numbers, Number) });
  }
  const file = readFileSync(`${folder}/net.onnx`);
  const session = await ort.InferenceSession.create(file, { logSeverityLevel: 3, graphOptimizationLevel: "disabled" });
  const feeds = {};
  for (const name of session.inputNames) feeds[name] = new ort.Tensor("float32", values.get(name).data, values.get(name).shape);
  const results = await session.run(feeds);
  for (const name of session.outputNames) {
    const theirs = results[name].data, ours = values.get(name);
    if (results[name].dims.join() !== ours.shape.join())
      throw new Error(`seed ${seed}, ${name}: shape ${ours.shape}, onnxruntime has ${results[name].dims}`);
    const size = theirs.reduce((most, x) => Math.max(most, Math.abs(x)), 1);
    theirs.forEach((x, i) => {
      if (!(Math.abs(x - ours.data[i]) <= 2e-4 * size) && !(Number.isNaN(x) && Number.isNaN(ours.data[i])))
        throw new Error(`seed ${seed}, ${name}[${i}]: ${ours.data[i]}, onnxruntime has ${x}`);
      compared++;
    });
  }
  const text = file.toString("latin1");
  for (const [, name] of text.matchAll(/node\d+"?\x22?[^A-Z]*([A-Z][A-Za-z]+)/g)) operators.set(name, (operators.get(name) ?? 0) + 1);
}
if (!compared) throw new Error("nothing was compared");
console.log(`${count} networks, ${compared} numbers; ${[...operators].map(([k, n]) => `${k} ${n}`).sort().join(", ")}`);
