// The figures of `nutmeg bench web` that need a browser. Prints "value X".
//   bench.mjs first|frames|log PROGRAM ROOT LOGS SECONDS      (LOGS: a folder with big.mcap; SECONDS of frames)
import { join } from "node:path";
import { open, rest, serve } from "./stage.mjs";

const [what, program, root, logs, seconds] = process.argv.slice(2);
// a log is read from a line-up that does nothing else
const words = what === "log" ? ["run", "play", "--live", "0", "--log", join(logs, "other.mcap"), "--seconds", "120"] : ["play", "--live", "0"];
const url = await serve(program, words, what === "log" ? process.cwd() : root).url;
const median = (list) => list.sort((a, b) => a - b)[Math.floor(list.length / 2)];

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
  const page = await open("about:blank");
  await rest(3000); // the match has begun
  const began = performance.now();
  await page.goto(url, { waitUntil: "commit" });
  await page.waitForFunction(painted, undefined, { polling: 50, timeout: 60000 });
  console.log("value", (performance.now() - began) / 1000);
} else if (what === "frames") {
  const page = await open(url);
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
  const page = await open("about:blank");
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
process.exit(0);
