// The figures of `nutmeg bench web` that need a browser. Prints "value X".
//   bench.mjs first|frames|log PROGRAM ROOT LOGS SECONDS      (LOGS: a folder with big.mcap; SECONDS of frames)
import { spawn } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { chromium } from "playwright-core";

const [what, program, root, logs, seconds] = process.argv.slice(2);
const scratch = mkdtempSync(join(tmpdir(), "bench-web-"));
// a log is read from a line-up that does nothing else
const words = what === "log" ? ["run", "play", "--live", "0", "--log", join(logs, "other.mcap"), "--seconds", "120"] : ["play", "--live", "0"];
const server = spawn(program, words, { cwd: what === "log" ? process.cwd() : root, env: { ...process.env, XDG_RUNTIME_DIR: scratch } });
let browser;
async function address() {
  let said = "";
  for await (const bytes of server.stdout) {
    said += bytes;
    const found = /live at (\S+)\n/.exec(said);
    if (found) return found[1];
  }
  throw new Error(`${program} ${words.join(" ")}: ${said}`);
}
const median = (list) => list.sort((a, b) => a - b)[Math.floor(list.length / 2)];

try {
  const url = await address();
  server.stdout.resume();
  browser = await chromium.launch({ executablePath: "/usr/bin/chromium", args: ["--no-sandbox"] });
  const page = await browser.newPage({ viewport: { width: 1400, height: 900 } });
  // a canvas of the map that shows a ball or a robot is a picture: it has pixels of several colours
  const painted = () => {
    const canvas = document.querySelector(".panel canvas");
    if (!canvas || !canvas.width) return false;
    const seen = new Set();
    const pen = canvas.getContext("2d");
    if (!pen) return false;
    const { data } = pen.getImageData(0, 0, canvas.width, canvas.height);
    for (let i = 0; i < data.length; i += 4 * 97) seen.add((data[i] >> 4) * 256 + (data[i + 1] >> 4) * 16 + (data[i + 2] >> 4));
    return seen.size > 6 && document.querySelectorAll("[data-robot]").length > 0;
  };
  if (what === "first") {
    await new Promise((done) => setTimeout(done, 3000)); // the match has begun
    await page.goto("about:blank");
    const began = performance.now();
    await page.goto(url, { waitUntil: "commit" });
    await page.waitForFunction(painted, undefined, { polling: 50, timeout: 60000 });
    console.log("value", (performance.now() - began) / 1000);
  } else if (what === "frames") {
    await page.goto(url);
    await page.waitForFunction(() => document.querySelectorAll("[data-robot]").length === 8, undefined, { timeout: 60000 });
    await page.waitForFunction(painted, undefined, { timeout: 60000 });
    await page.waitForTimeout(2000);
    // every frame of the map begins with a new picture: the canvas is cleared or filled as a whole
    const times = await page.evaluate(async (ms) => {
      const pen = document.querySelector(".panel canvas").getContext("2d");
      const list = [];
      for (const name of ["clearRect", "fillRect"]) {
        const real = pen[name].bind(pen);
        pen[name] = (x, y, w, h) => {
          if (x <= 0 && y <= 0 && w > 100 && h > 100) list.push(performance.now());
          return real(x, y, w, h);
        };
      }
      await new Promise((done) => setTimeout(done, ms));
      return list;
    }, 1000 * Number(seconds));
    const gaps = times.slice(1).map((t, i) => t - times[i]).filter((gap) => gap > 2); // two calls of one frame
    console.log("value", gaps.length > 5 ? median(gaps) : NaN);
  } else {
    await page.goto("about:blank");
    const began = performance.now();
    await page.goto(`${url}&log=big.mcap#view=match`, { waitUntil: "commit" });
    await page.locator('[data-test="track"], .timeline .track').waitFor({ timeout: 60000 });
    await page.waitForFunction(() => document.querySelectorAll("[data-robot]").length > 0, undefined, { polling: 50, timeout: 60000 });
    const box = await page.locator(".timeline .track").boundingBox();
    await page.mouse.click(box.x + box.width / 2, box.y + box.height / 2);
    // the robot's panel shows something of the middle
    await page.waitForFunction(() => document.querySelector("[data-fact]") !== null, undefined, { polling: 50, timeout: 60000 });
    console.log("value", (performance.now() - began) / 1000);
  }
} catch (error) {
  console.error(error.message);
  process.exitCode = 1;
} finally {
  await browser?.close();
  server.kill();
  rmSync(scratch, { recursive: true, force: true });
}
