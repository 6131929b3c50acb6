// Ten minutes of a match with the page open, or as many seconds as the last argument says: neither the page's nor the
// server's memory may grow. The page keeps a few minutes of messages, so only the last four minutes of ten count; a
// shorter soak allows for a history that is still being filled.
//   soak.mjs PROGRAM ROOT [SECONDS]
import { spawn } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { chromium } from "playwright-core";

const [program, root, seconds = "600"] = process.argv.slice(2);
const scratch = mkdtempSync(join(tmpdir(), "soak-"));
const server = spawn(program, ["play", "--half", "20m", "--live", "0"], { cwd: root, env: { ...process.env, XDG_RUNTIME_DIR: scratch } });
let said = "";
server.stdout.on("data", (bytes) => (said += bytes));
server.stderr.resume();
let browser;
const rest = (ms) => new Promise((done) => setTimeout(done, ms));
// of the server without pages of files
const memory = () => Number(/RssAnon:\s+(\d+)/.exec(readFileSync(`/proc/${server.pid}/status`, "utf8"))[1]) / 1000;
const slope = (list) => {
  const n = list.length;
  const mx = list.reduce((s, p) => s + p[0], 0) / n;
  const my = list.reduce((s, p) => s + p[1], 0) / n;
  return list.reduce((s, p) => s + (p[0] - mx) * (p[1] - my), 0) / list.reduce((s, p) => s + (p[0] - mx) ** 2, 0);
};
try {
  while (!/live at (\S+)\n/.test(said) && server.exitCode === null) await rest(100);
  browser = await chromium.launch({ executablePath: "/usr/bin/chromium", args: ["--no-sandbox", "--js-flags=--expose-gc"] });
  const page = await browser.newPage({ viewport: { width: 1400, height: 900 } });
  await page.goto(/live at (\S+)\n/.exec(said)[1]);
  const points = [];
  const length = Number(seconds);
  for (let t = 0; t <= length; t += length / 30) {
    await rest((1000 * length) / 30);
    const heap = await page.evaluate(() => {
      globalThis.gc?.();
      return performance.memory.usedJSHeapSize / 1e6;
    });
    points.push([t / 60, heap, memory()]);
    console.log(`${t.toFixed(0).padStart(4)} s  page ${heap.toFixed(1)} MB  server ${memory().toFixed(1)} MB`);
  }
  const counted = points.slice(Math.ceil(points.length * (length >= 600 ? 0.6 : 0.2)));
  const grows = [slope(counted.map((p) => [p[0], p[1]])), slope(counted.map((p) => [p[0], p[2]]))];
  console.log(`growth: page ${grows[0].toFixed(2)} MB/min, server ${grows[1].toFixed(2)} MB/min`);
  // after the history is full nothing grows; before, in a short soak, the page may fill it
  const most = length >= 600 ? [1, 0.5] : [40, 8];
  if (grows[0] > most[0] || grows[1] > most[1]) throw new Error(`memory grows: at most ${most[0]} and ${most[1]} MB/min are allowed`);
  if (points.length < 20) throw new Error("too few measurements");
} catch (error) {
  console.error(error.message);
  process.exitCode = 1;
} finally {
  await browser?.close();
  server.kill();
  rmSync(scratch, { recursive: true, force: true });
}
