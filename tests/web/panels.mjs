// The panels of the system, of a match and of a camera, against running simulations: what they show is what the robot
// itself says, and what they change arrives.
//   panels.mjs NUTMEG ROOT [GROUP…]
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { faults, open, serve } from "../../web/stage.mjs";
import { ask as hear } from "./ask.mjs";

const [program, root, ...chosen] = process.argv.slice(2);
const ask = (...words) => execFileSync(program, words, { cwd: root, encoding: "utf8" });
let page;
let address;
// a MIDI controller that the test moves
const midi = (page) =>
  page.addInitScript(() => {
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
  await page.screenshot({ path: `${root}/out/panels.png` }).catch(() => 0);
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
  const spectator = await open(address.replace(/\/\?.*/, "/score")); // without the token
  await spectator.locator(".goals").first().waitFor();
  await page.locator('[data-order="goal blue"]').click();
  await until("the goal", async () => (await spectator.locator(".goals").allTextContents())[1] !== "0");
  // the control manager knows where it is
  await show("system");
  await until("states", async () => (await page.locator("[data-state]").count()) === 15);
  await until("the present one", async () => (await page.locator(".states .node.on").count()) === 1);
}

// The image that a robot took, its layers, and a camera that breaks and is mended.
async function camera() {
  await show("vision");
  const canvas = page.locator("[data-panel=image] canvas");
  const stamp = async () => Number(await canvas.getAttribute("data-stamp"));
  const layer = async (id, on) => {
    const drawn = async () => (await canvas.getAttribute("data-layers")).split(" ").includes(id);
    if ((await drawn()) !== on) await page.locator(`[data-panel=image] [data-layer=${id}]`).click();
    await until(`the layer ${id}`, async () => (await drawn()) === on);
  };
  // pixels of the image, each from the middle of its place on the canvas
  await page.addInitScript(() => {
    window.pixels = () => {
      const c = document.querySelector("[data-panel=image] canvas");
      const [x, y, scale] = c.dataset.place.split(" ").map(Number);
      const ratio = c.width / c.getBoundingClientRect().width;
      const { data } = c.getContext("2d").getImageData(0, 0, c.width, c.height);
      const list = new Uint8Array(3 * 644 * 482);
      for (let v = 0; v < 482; v++)
        for (let u = 0; u < 644; u++) {
          const at = 4 * (Math.floor((y + (v + 0.5) * scale) * ratio) * c.width + Math.floor((x + (u + 0.5) * scale) * ratio));
          list.set(data.subarray(at, at + 3), 3 * (644 * v + u));
        }
      return list;
    };
    // places whose colour is not that of the plain image
    window.changed = () => {
      const now = pixels();
      const list = [];
      for (let i = 0; i < 644 * 482; i++) if ([0, 1, 2].some((k) => Math.abs(now[3 * i + k] - plain[3 * i + k]) > 40)) list.push(i);
      return list;
    };
  });
  await page.reload();
  await until("an image", async () => (await canvas.getAttribute("data-image")) === "644x482");
  const host = new URL(address).host;
  const token = new URL(address).searchParams.get("token");
  const clock = page.locator('[data-test="sim-pause"]');
  await until("a look at lines", async () => {
    const first = await stamp();
    await until("the next image", async () => (await stamp()) > first);
    await clock.click();
    await clock.filter({ hasText: "run" }).waitFor();
    const seen = (await hear(host, token, ["/lines_in_image"])).answers["/lines_in_image"];
    const length = seen.segments.reduce((sum, s) => sum + Math.hypot(s.end.x - s.start.x, s.end.y - s.start.y), 0);
    if (length > 300) return true;
    await clock.click();
    await clock.filter({ hasText: "freeze" }).waitFor();
  });
  const ids = await page.locator("[data-panel=image] [data-layer]").evaluateAll((all) => all.map((e) => e.dataset.layer));
  assert.deepEqual(ids, ["candidates", "ball", "lines", "border", "body", "posts", "robots", "percepts", "horizon", "truth"]);
  for (const id of ids) await layer(id, false);
  const raw = (await hear(host, token, ["/camera/image_raw"])).answers["/camera/image_raw"];
  await until("the newest image", async () => Math.abs((await stamp()) - raw.header.stamp.sec - raw.header.stamp.nanosec * 1e-9) < 0.002);
  const luma = Uint8Array.from({ length: 644 * 482 }, (_, i) => raw.data[Math.floor(i / 644) * raw.step + 2 * (i % 644)]);
  const off = await page.evaluate((text) => {
    window.plain = pixels();
    let sum = 0;
    for (let i = 0; i < plain.length / 3; i++) sum += Math.abs(0.299 * plain[3 * i] + 0.587 * plain[3 * i + 1] + 0.114 * plain[3 * i + 2] - text.charCodeAt(i));
    return sum / (644 * 482);
  }, Buffer.from(luma).toString("latin1"));
  assert.ok(off < 6, `the image on the page differs by ${off} in brightness`);
  // the same as JPEG, as a page behind a network takes it
  const source = page.getByLabel("source of the image");
  await source.selectOption("/camera/image_raw/compressed");
  const differs = () =>
    page.evaluate(() => {
      const now = pixels();
      return plain.reduce((sum, v, i) => sum + Math.abs(v - now[i]), 0) / plain.length;
    });
  await until("the image as JPEG", async () => {
    const d = await differs();
    return d > 0.2 && d < 15;
  });
  await source.selectOption("/camera/image_raw");
  await until("the image again", async () => (await differs()) === 0);
  const changed = {};
  for (const id of ids) {
    await layer(id, true);
    const see = async () => (changed[id] = await page.evaluate(() => changed()));
    await see();
    if (["lines", "horizon", "truth"].includes(id)) await until(`pixels of the layer ${id}`, async () => (await see()).length > 100);
    await layer(id, false);
  }
  assert.equal(await page.evaluate(() => changed().length), 0, "layers leave the image as it was");
  // where the truth has a line there is paint nearby, much more often than elsewhere
  const paint = (u, v) => {
    let most = 0;
    for (let y = Math.max(v - 6, 0); y <= Math.min(v + 6, 481); y++) for (let x = Math.max(u - 6, 0); x <= Math.min(u + 6, 643); x++) most = Math.max(most, luma[644 * y + x]);
    return most > 150;
  };
  const places = changed.truth.map((i) => [i % 644, Math.floor(i / 644)]).filter(([, v]) => v > 220 && v < 420);
  const share = places.filter(([u, v]) => paint(u, v)).length / places.length;
  const beside = places.filter(([u, v]) => paint((u + 50) % 644, v + 50)).length / places.length;
  console.log(`${places.length} pixels of true lines, ${(100 * share).toFixed(0)} % of them on paint, ${(100 * beside).toFixed(0)} % beside them`);
  assert.ok(places.length > 50 && share > 0.4 && share > 1.5 * beside, "the true lines lie on paint");
  for (const id of ids) await layer(id, true);
  await page.locator("[data-panel=image]").screenshot({ path: `${root}/out/camera.jpg`, type: "jpeg", quality: 85 }); // docs/pictures

  // break the camera, and mend it
  await page.locator(".dv-tab", { hasText: "Around" }).click(); // the new panel comes there
  await page.locator("[data-menu=panels]").click();
  await page.locator("[data-add=faults]").click();
  await page.getByLabel("for how long").selectOption("0");
  await page.locator('[data-fault="eyes blind"]').click();
  await page.locator('[data-test=broken]', { hasText: "eyes blind" }).waitFor();
  await clock.click();
  const world = JSON.parse((await hear(host, token, [])).info.metadata.peers).find((p) => p.name === "world");
  const time = async () => (await hear(`127.0.0.1:${world.port}`, token, ["/truth/world"])).answers["/truth/world"].time;
  const now = await time();
  await until("time", async () => (await time()) > now + 2);
  const blind = await stamp();
  await until("time", async () => (await time()) > now + 4);
  assert.equal(await stamp(), blind, "a blind robot gets no images");
  await page.locator('[data-fault="none"]').click();
  await until("images again", async () => (await stamp()) > blind);
  // a servo that tells nothing, and a refusal
  await page.locator('[data-test="fault-joint"]').selectOption("left_knee");
  await page.locator('[data-fault="servo limp"]').click();
  await page.locator("[data-test=broken]", { hasText: "servo limp left_knee" }).waitFor();
}

// Points that are clicked on an image arrive as messages, with its stamp.
async function clicks() {
  await show("vision");
  const canvas = page.locator("[data-panel=image] canvas");
  await until("an image", async () => (await canvas.getAttribute("data-image")) === "644x482");
  await page.locator("[data-panel=image] .corner button", { hasText: "send clicks" }).click();
  const stamp = async () => Number(await canvas.getAttribute("data-stamp"));
  const before = await stamp();
  const box = await canvas.boundingBox();
  const [x, y, scale] = (await canvas.getAttribute("data-place")).split(" ").map(Number);
  let click; // as the robot's server tells it
  hear(new URL(address).host, new URL(address).searchParams.get("token"), ["/clicked_point"]).then(({ answers }) => (click = answers["/clicked_point"]));
  await until("a click arrives", async () => {
    await page.mouse.click(box.x + x / 2, box.y + box.height / 2); // beside the image: not sent
    await page.mouse.click(box.x + x + 500 * scale, box.y + y + 300 * scale);
    return click;
  });
  assert.ok(Math.abs(click.point.x - 500) < 2 && Math.abs(click.point.y - 300) < 2, JSON.stringify(click));
  const time = click.header.stamp.sec + click.header.stamp.nanosec * 1e-9;
  assert.ok(time >= before - 0.002 && time <= (await stamp()) + 0.002, `${time} is not the stamp of an image`);
}

const groups = [
  [system, "sim", "kickabout", "--seeds", "1", "--seconds", "3600", "--speed", "1"],
  [match, "play"],
  [camera, "play", "--fidelity", "camera", "--players", "1", "--half", "5m", "--red", "match:vision", "--blue", "match:vision"],
  [clicks, "sim", "calibrate", "--seconds", "3600", "--speed", "1"],
].filter(([group]) => !chosen.length || chosen.includes(group.name));
for (const [group, ...words] of groups) {
  const server = serve(program, [...words, "--live", "0"], root);
  address = await server.url;
  page = await open(address, { viewport: { width: 1400, height: 1000 } }, midi);
  await group();
  assert.deepEqual(faults, []);
  await page.context().close();
  await server.end();
  console.log(`ok ${group.name}`);
}
process.exit(0);
