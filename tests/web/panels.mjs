// The panels, one group after the other. panels.sh starts the simulations.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { chromium } from "../../web/node_modules/playwright-core/index.mjs";

const [group, address, program] = process.argv.slice(2);
const ask = (...words) => execFileSync(program, words, { encoding: "utf8" });
const browser = await chromium.launch({ executablePath: "/usr/bin/chromium", args: ["--no-sandbox"] });
const page = await browser.newPage({ viewport: { width: 1400, height: 1000 } });
page.setDefaultTimeout(60000);
const faults = [];
page.on("pageerror", (error) => faults.push(error.message));
// a MIDI controller that the test moves
await page.addInitScript(() => {
  window.device = { onmidimessage: null };
  navigator.requestMIDIAccess = async () => ({ inputs: new Map([["d", window.device]]) });
});
async function show(view) {
  await page.goto(`${address}#view=${view}`);
  await page.reload();
}
async function until(what, check) {
  for (let i = 0; i < 300; i++) {
    try {
      if (await check()) return;
    } catch {}
    await page.waitForTimeout(200);
  }
  await page.screenshot({ path: "out/panels.png" }).catch(() => 0);
  assert.fail(`${what}: never; out/panels.png shows the page. ${faults.join("; ")}`);
}
const texts = (selector) => page.locator(selector).allTextContents();

async function system() {
  await show("system");
  // topics: the rates are those that the robot tells
  await until("rates", async () => Number((await texts('[data-topic="/imu/data"] td'))[1]) > 0);
  const rate = Number((await texts('[data-topic="/imu/data"] td'))[1]);
  const told = Number(/imu\/data |data +\S+ +([\d.]+) Hz/.exec(ask("shell", "red1", "-c", "ls topics/imu"))[1]);
  assert.ok(Math.abs(rate - told) < 0.3 * told, `${rate} Hz on the page, ${told} Hz at the robot`);
  // cycles: all of them with all their modules
  await until("cycles", async () => (await page.locator("[data-cycle]").count()) > 0);
  const cycles = ask("shell", "red1", "-c", "ls cycles").trim().split(/\s+/).map((c) => c.replace("/", ""));
  assert.deepEqual((await page.locator("[data-cycle]").evaluateAll((all) => all.map((e) => e.dataset.cycle))).sort(), [...cycles].sort());
  // nodes: every instance is one
  await until("nodes", async () => (await page.locator("[data-node]").count()) > 3);
  const nodes = await page.locator("[data-node]").evaluateAll((all) => all.map((e) => e.dataset.node));
  for (const cycle of cycles)
    for (const line of ask("shell", "red1", "-c", `ls cycles/${cycle}`).trim().split("\n")) assert.ok(nodes.includes(line.split(/\s/)[0]), line);

  // parameters: found by their prose, changed at the robot, undone, moved by a slider, refused with a reason
  await show("walk");
  const row = page.locator('[data-param="walk.leap"]');
  await page.locator('[data-test="parameters"]').waitFor();
  await page.locator('input[placeholder="find by name or prose"]').fill("leap");
  const before = ask("param", "get", "walk.leap", "--to", "red1").trim();
  await row.locator(".value").fill("81.5");
  await row.locator(".value").press("Enter");
  await until("a parameter reaches the robot", () => ask("param", "get", "walk.leap", "--to", "red1").trim() === "81.5");
  await until("its layer", async () => (await row.textContent()).includes("live"));
  await page.getByRole("button", { name: "undo" }).click();
  await until("undo", () => ask("param", "get", "walk.leap", "--to", "red1").trim() === before);
  await row.getByRole("button", { name: "♪" }).click();
  await until("learning", async () => (await row.locator("button.warn").count()) === 1);
  await page.evaluate(() => window.device.onmidimessage({ data: [0xb0, 7, 0] }));
  await page.evaluate(() => window.device.onmidimessage({ data: [0xb0, 7, 127] }));
  const most = Number(/max: (\S+)/.exec(ask("shell", "red1", "-c", "cat params/walk/leap"))[1]);
  await until("the slider", () => Number(ask("param", "get", "walk.leap", "--to", "red1")) === most);
  let beyond = most * 10;
  await until("a refusal", async () => {
    await row.locator(".value").fill(String(beyond++)); // a value that arrives just now may take its place
    await row.locator(".value").press("Enter");
    await page.waitForTimeout(500);
    return (await texts(".toast.error")).join().includes("leap");
  });
  await row.getByRole("button", { name: "↺" }).click();
  await until("back to the files", () => ask("param", "get", "walk.leap", "--to", "red1").trim() === before);

  // servos: all of the robot
  await show("servos");
  await until("servos", async () => (await page.locator("[data-servo]").count()) === 20);
}

async function match() {
  await show("referee");
  await until("mates", async () => (await page.locator("[data-mate]").count()) === 4);
  assert.match((await texts('[data-test="budget"]')).join(), /\d+ messages left|no limit/);
  await page.locator('[data-order="stop"]').waitFor();
  await until("the game", async () => (await texts('[data-test="referee-state"]')).join() === "playing");
  const spectator = await browser.newPage();
  await spectator.goto(address.replace(/\/\?.*/, "/score")); // without the token
  await spectator.locator(".goals").first().waitFor();
  await page.locator('[data-order="goal blue"]').click();
  await until("the goal", async () => (await spectator.locator(".goals").allTextContents())[1] !== "0");
  // the control manager knows where it is
  await show("system");
  await until("states", async () => (await page.locator("[data-state]").count()) === 15);
  await until("the present one", async () => (await page.locator(".states .node.on").count()) === 1);
}

try {
  await (group === "system" ? system() : match());
  assert.deepEqual(faults, []);
} finally {
  await browser.close();
}
