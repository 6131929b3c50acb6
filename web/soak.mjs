// Ten minutes of a match with the page open: after warm-up neither the page's nor the server's memory may grow. The page
// remembers five minutes of the match, so warm-up ends when the match is that old, and the next four minutes of the match
// count. A machine that is too slow for real time takes longer. A soak of fewer seconds only tries the script.
//   soak.mjs PROGRAM ROOT [SECONDS]
import { readFileSync } from "node:fs";
import { open, rest, serve } from "./stage.mjs";

const [program, root, seconds = "600"] = process.argv.slice(2);
const length = Number(seconds); // s, real
const WARM = length >= 600 ? 330 : length / 2; // s, simulated
const COUNTED = length >= 600 ? 240 : length / 3; // s, simulated
const MOST = [1, 0.5]; // MB a minute: page, server
const server = serve(program, ["play", "--half", "20m", "--live", "0"], root);
// of the server without pages of files
const memory = () => Number(/RssAnon:\s+(\d+)/.exec(readFileSync(`/proc/${server.pid}/status`, "utf8"))[1]) / 1000;
const slope = (list) => {
  const n = list.length;
  const mx = list.reduce((s, p) => s + p[0], 0) / n;
  const my = list.reduce((s, p) => s + p[1], 0) / n;
  return list.reduce((s, p) => s + (p[0] - mx) * (p[1] - my), 0) / list.reduce((s, p) => s + (p[0] - mx) ** 2, 0);
};
const page = await open(await server.url);
const inside = await page.context().newCDPSession(page);
const began = performance.now();
const points = [];
for (let t = 0, match = 0; t < length || match < WARM + COUNTED; ) {
  await rest((1000 * length) / 60);
  t = (performance.now() - began) / 1000;
  if (t > 12 * length) throw new Error("the match is too slow: it did not grow old enough");
  await inside.send("HeapProfiler.collectGarbage");
  const heap = await inside.send("Runtime.getHeapUsage");
  match = await page.evaluate(() => document.querySelector("[data-test=time]").textContent.split(":").reduce((sum, part) => 60 * sum + Number(part), 0));
  const point = [t / 60, (heap.usedSize + heap.embedderHeapUsedSize + heap.backingStorageSize) / 1e6, memory()];
  if (match > WARM) points.push(point);
  console.log(`${t.toFixed(0).padStart(4)} s  match ${match.toFixed(0).padStart(4)} s  page ${point[1].toFixed(1)} MB  server ${point[2].toFixed(1)} MB${match > WARM ? "  counted" : ""}`);
}
const grows = [1, 2].map((k) => slope(points.map((p) => [p[0], p[k]])));
console.log(`growth after warm-up, ${points.length} measurements: page ${grows[0].toFixed(2)} MB/min, server ${grows[1].toFixed(2)} MB/min (at most ${MOST.join(" and ")})`);
if (points.length < 15) throw new Error("too few measurements");
if (!grows.every((g, i) => g <= MOST[i])) throw new Error("memory grows");
process.exit(0);
