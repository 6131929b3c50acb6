// How scripts with a browser begin and end: a program that serves pages, and Debian's chromium. What they leave in
// `scratch` is deleted, and programs that still run are ended, however the script ends.
import { spawn } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { chromium } from "playwright-core";

export const patience = 120000; // ms; the machine may be busy
export const scratch = mkdtempSync(join(tmpdir(), "nutmeg-web-"));
process.env.XDG_RUNTIME_DIR = scratch; // other line-ups of this machine are not seen
const running = new Set();
process.on("exit", () => {
  for (const child of running) child.kill("SIGKILL");
  rmSync(scratch, { recursive: true, force: true });
});
for (const signal of ["SIGINT", "SIGTERM"]) process.on(signal, () => process.exit(1));

export const rest = (ms) => new Promise((done) => setTimeout(done, ms));

// A program in a folder: `url` is the address that it prints, `ended` its exit status.
export function serve(program, words, cwd) {
  const child = spawn(program, words, { cwd, stdio: ["ignore", "pipe", "pipe"] });
  let said = "";
  running.add(child);
  const ended = new Promise((done) => child.on("exit", done));
  const url = new Promise((found, lost) => {
    const hear = (bytes) => {
      said = (said + bytes).slice(-20000);
      const address = /(http:\/\/\S+)\s/.exec(said);
      if (address) found(address[1]);
    };
    child.stdout.on("data", hear);
    child.stderr.on("data", hear);
    child.on("error", lost);
    ended.then((status) => lost(new Error(`${program} ${words.join(" ")} ended with ${status}: ${said}`)));
  });
  url.catch(() => {});
  ended.then(() => running.delete(child));
  return { pid: child.pid, url, ended, end: () => (child.kill("SIGTERM"), ended) };
}

export const flags = ["--no-sandbox", "--disable-dev-shm-usage"]; // of chromium; more can be added before the first page
let browser;
export const faults = []; // what pages complained of

// A new page of its own window. `before` is called with it before it opens the address.
export async function open(url, how = {}, before = async () => {}) {
  browser ??= await chromium.launch({ executablePath: "/usr/bin/chromium", args: flags });
  const context = await browser.newContext({ viewport: { width: 1400, height: 900 }, ...how });
  const page = await context.newPage();
  page.setDefaultTimeout(patience);
  page.on("pageerror", (e) => faults.push(e.stack));
  page.on("console", (m) => {
    // while a server is away, the browser itself says so
    if (m.type() === "error" && !/WebSocket connection|ERR_CONNECTION|Failed to load resource/.test(m.text())) faults.push(m.text());
  });
  await before(page);
  await page.goto(url, { waitUntil: "commit" });
  return page;
}
