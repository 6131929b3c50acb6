// The page against matches that play. What it shows is compared with the robots' own messages, read by an independent
// client (@foxglove/ws-protocol, rosmsg2-serialization) while the simulation stands still.
//   page.mjs NUTMEG ROOT [FOLDER-FOR-PICTURES]
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { faults, flags, open as openPage, scratch, serve } from "../../web/stage.mjs";
import { ask } from "./ask.mjs";

const [nutmeg, root, pictures] = process.argv.slice(2);
const play = (...words) => serve(nutmeg, ["play", "--fidelity", "flat", "--half", "5m", "--seed", "3", ...words], root);
flags.push("--disable-gpu"); // several pages at once on a busy machine

async function open(url, hash = "", how = {}) {
  const began = Date.now();
  const page = await openPage(url + hash, { viewport: { width: 1440, height: 860 }, colorScheme: "dark", ...how });
  await page.waitForFunction(() => Number(document.querySelector("[data-panel=map] canvas")?.dataset.robots) > 0);
  page.opened = Date.now() - began;
  return page;
}
const text = (page, selector) => page.locator(selector).first().innerText();
const until = (page, selector, wanted) =>
  page.waitForFunction(([s, w]) => document.querySelector(s)?.textContent.includes(w), [selector, wanted]).catch(async () => {
    assert.equal(await text(page, selector), wanted);
  });
const tests = [];
const test = (name, run) => tests.push({ name, run });

// ---- what it shows is what the robots say ----

let first; // the match
let page;
let token;
let list; // [{name, port, team}]
const hostOf = (name) => `127.0.0.1:${list.find((p) => p.name === name).port}`;

test("opens on the match with all robots", async () => {
  first = play("--live", "0", "--log", scratch);
  const url = await first.url;
  token = new URL(url).searchParams.get("token");
  page = await open(url);
  const { info } = await ask(new URL(url).host, token, []);
  list = JSON.parse(info.metadata.peers);
  await page.waitForFunction(() => document.querySelectorAll(".squad .shirt").length === 8);
  await page.waitForFunction(() => document.querySelector("[data-panel=map] canvas").dataset.robots === "8");
  console.log(`first picture after ${page.opened} ms`);
});

test("does the first five minutes of docs/debugger.md", async () => {
  const steps = readFileSync(`${root}/docs/debugger.md`, "utf8").match(/<!-- (do|see): .*? -->/g);
  assert.ok(steps.length > 15, "the document has its steps");
  for (const step of steps) {
    const [, kind, what] = /<!-- (do|see): (.*?) -->/.exec(step);
    const began = Date.now();
    try {
      if (kind === "see") for (const s of what.split(" | ")) await page.waitForSelector(s, { state: "attached" });
      else if (what.startsWith("click ")) await page.click(what.slice(6));
      else if (what.startsWith("press ")) await page.keyboard.press(what.slice(6));
      else if (what.startsWith("type ")) {
        const [selector, words] = what.slice(5).split(" = ");
        await page.fill(selector, words);
      } else throw new Error("unknown kind of step");
      if (process.env.NM_VERBOSE) console.log(`${Date.now() - began} ms ${step}`);
    } catch (error) {
      throw new Error(`${step}: ${error.message}`);
    }
  }
  await page.evaluate(() => localStorage.clear());
  await page.goto(await first.url);
  await page.reload();
  await page.waitForFunction(() => document.querySelector("[data-panel=map] canvas")?.dataset.robots === "8");
});

test("shows the values of the topics", async () => {
  await page.click("[data-robot=red4]");
  await page.waitForSelector("[data-test=sim-pause]:not([disabled])");
  const gap = await page.evaluate(
    () =>
      new Promise((done) => {
        const times = [];
        const watch = new MutationObserver(() => {
          if (times.push(performance.now()) <= 40) return;
          watch.disconnect();
          done(times.slice(1).map((t, i) => t - times[i]).sort((a, b) => a - b)[20]);
        });
        watch.observe(document.querySelector("[data-panel=map] canvas"), { attributes: true, attributeFilter: ["data-ms"] });
      }),
  );
  console.log(`median time between two frames of the map: ${gap.toFixed(0)} ms`);
  if (pictures) await page.waitForTimeout(28000); // until the ball is in play
  await page.click("[data-test=sim-pause]");
  await until(page, "[data-test=sim-pause]", "run");
  const { answers } = await ask(hostOf("red4"), token, ["/match_state", "/behavior_state", "/strategy_plan", "/ball", "/pose"]);
  const match = answers["/match_state"];
  const clock = `${Math.floor(match.seconds_remaining / 60)}:${String(match.seconds_remaining % 60).padStart(2, "0")}`;
  await until(page, "[data-test=clock]", clock);
  const goals = (await text(page, "[data-test=score] .goals")).replace(/\s/g, "");
  assert.equal(goals, `${match.own_score}:${match.rival_score}`);
  const state = match.stopped ? "stopped" : ["initial", "ready", "set", "playing", "finished", "standby"][match.state];
  await until(page, "[data-test=state]", state);
  const behaviour = answers["/behavior_state"];
  for (const [i, option] of behaviour.options.entries()) {
    const row = page.locator("[data-panel=behaviour] .option").nth(i);
    await row.waitFor();
    const line = await row.innerText();
    assert.ok(line.includes(option) && line.includes(behaviour.states[i]), `${line} is not ${option} ${behaviour.states[i]}`);
  }
  const p = answers["/pose"].pose.pose.position;
  await until(page, "[data-panel=robot] [data-row='is at']", `${p.x.toFixed(2)}, ${p.y.toFixed(2)} m`);
});

test("draws robots and ball where they are", async () => {
  const { answers } = await ask(hostOf("world"), token, ["/truth/world"]);
  const bodies = answers["/truth/world"].bodies.map((b) => ({ name: b.name, x: b.pose.position.x, y: b.pose.position.y }));
  assert.equal(bodies.length, 9);
  const seen = await page.evaluate((bodies) => {
    const canvas = document.querySelector("[data-panel=map] canvas");
    const box = canvas.getBoundingClientRect();
    const pen = canvas.getContext("2d");
    const ratio = canvas.width / box.width;
    const scale = Math.min(box.width / (9 + 2 + 0.2), box.height / (6 + 2 + 0.2));
    return bodies.map(({ name, x, y }) => {
      const r = name === "ball" ? 0 : 0.11; // beside the number
      const at = (dx, dy) => [...pen.getImageData((box.width / 2 + (x + dx) * scale) * ratio, (box.height / 2 - (y + dy) * scale) * ratio, 1, 1).data];
      return { name, pixels: [at(-r, r / 2), at(r, r / 2), at(-r, -r / 2), at(r, -r / 2), at(0, r)] };
    });
  }, bodies);
  const red = ([r, , b]) => r > 200 && b < 160;
  const blue = ([r, , b]) => b > 200 && r < 160;
  const orange = ([r, g, b]) => r > 200 && g > 130 && b < 130;
  const grey = ([r, g, b]) => Math.max(r, g, b) - Math.min(r, g, b) < 40 && r > 80;
  for (const { name, pixels } of seen) {
    const penalised = name !== "ball" && (await ask(hostOf(name), token, ["/match_state"])).answers["/match_state"].penalized;
    const is = name === "ball" ? orange : penalised ? grey : name.startsWith("red") ? red : blue;
    // another body may hide a part of it
    assert.ok(pixels.some(is), `${name} is not at its place on the field: ${JSON.stringify(pixels)}`);
  }
});

test("draws eight robots in three dimensions", async () => {
  await page.waitForFunction(() => document.querySelector("[data-panel=scene] canvas")?.dataset.robots === "8");
  const frames = Number(await page.getAttribute("[data-panel=scene] canvas", "data-frames"));
  await page.waitForFunction((n) => Number(document.querySelector("[data-panel=scene] canvas").dataset.frames) > n, frames);
  const shot = (await page.locator("[data-panel=scene] canvas").screenshot()).toString("base64");
  const share = await page.evaluate(async (data) => {
    const bitmap = await createImageBitmap(new Blob([Uint8Array.from(atob(data), (c) => c.charCodeAt(0))]));
    const canvas = new OffscreenCanvas(bitmap.width, bitmap.height);
    const pen = canvas.getContext("2d");
    pen.drawImage(bitmap, 0, 0);
    const p = pen.getImageData(0, 0, canvas.width, canvas.height).data;
    const n = { green: 0, line: 0, red: 0, blue: 0 };
    for (let i = 0; i < p.length; i += 4) {
      const [r, g, b] = [p[i], p[i + 1], p[i + 2]];
      if (g > r + 8 && g > b + 4) n.green++;
      if (r > 150 && g > 160 && b > 150) n.line++;
      if (r > 150 && r > b + 60) n.red++;
      if (b > 150 && b > r + 60) n.blue++;
    }
    for (const k of Object.keys(n)) n[k] /= p.length / 4;
    return n;
  }, shot);
  assert.ok(share.green > 0.3 && share.line > 0.002 && share.red > 0.003 && share.blue > 0.003, JSON.stringify(share));
});

test("a click on the field follows a robot, a moved ball moves", async () => {
  const { answers } = await ask(hostOf("world"), token, ["/truth/world"]);
  const bodies = new Map(answers["/truth/world"].bodies.map((b) => [b.name, b.pose.position]));
  const box = await page.locator("[data-panel=map] canvas").boundingBox();
  const scale = Math.min(box.width / 11.2, box.height / 8.2);
  const at = (x, y) => [box.x + box.width / 2 + x * scale, box.y + box.height / 2 - y * scale];
  const blue1 = bodies.get("blue1");
  await page.mouse.click(...at(blue1.x, blue1.y));
  await page.waitForSelector("[data-robot=blue1].followed");
  const ball = bodies.get("ball");
  await page.click("[data-panel=map] [data-hand=move]");
  await page.mouse.move(...at(ball.x, ball.y));
  await page.mouse.down();
  await page.mouse.move(...at(0.5, 2.2), { steps: 4 });
  await page.mouse.move(...at(0.5, 2.5), { steps: 2 });
  await page.mouse.up();
  await page.click("[data-panel=map] [data-hand=move]");
  await page.click("[data-test=sim-step]");
  for (let tries = 0; ; tries++) {
    const now = (await ask(hostOf("world"), token, ["/truth/world"])).answers["/truth/world"].bodies.find((b) => b.name === "ball").pose.position;
    if (Math.hypot(now.x - 0.5, now.y - 2.5) < 0.2) break;
    assert.ok(tries < 50, `the ball is at ${now.x}, ${now.y}`);
    await page.waitForTimeout(200);
  }
});

test("graphs, tables and messages show the topic's own values", async () => {
  await page.keyboard.press("5");
  await page.waitForSelector("[data-panel=table] td");
  for (const name of ["red2", "blue3"]) {
    const { answers } = await ask(hostOf(name), token, ["/team_message"]);
    const own = answers["/team_message"].ball_age;
    await until(page, `[data-cell="${name} team_message.ball_age"]`, String(Number(own.toFixed(4))));
  }
  await page.click("[data-robot=blue1]");
  await page.click("[data-menu=panels]");
  await page.click("[data-add=raw]");
  await page.fill("[data-panel=raw] .picker input", "odometry");
  await page.click("[data-pick='/odometry']");
  const { answers } = await ask(hostOf("blue1"), token, ["/odometry"]);
  const x = Number(answers["/odometry"].pose.pose.position.x.toFixed(4));
  await until(page, "[data-panel=raw] [data-path='pose.pose.position.x']", String(x));
  await page.click("[data-menu=panels]");
  await page.click("[data-add=graph]");
  await page.fill("[data-panel=graph] .picker input", "odometry position.x");
  await page.click("[data-pick='/odometry.pose.pose.position.x']");
  const value = Number(answers["/odometry"].pose.pose.position.x.toPrecision(5));
  await until(page, "[data-value='odometry.pose.pose.position.x']", String(value));
});

// without a graphics card the 3-D panel slows everything down; the rest is done in views without it

test("time goes back for every panel, and on again", async () => {
  await page.keyboard.press("6");
  await page.keyboard.press("5");
  await until(page, "[data-test=sim-pause]", "run");
  await page.click("[data-test=sim-pause]");
  await until(page, "[data-test=sim-pause]", "freeze");
  await page.click("[data-robot=red4]");
  await page.waitForFunction(() => document.querySelectorAll("[data-test=behaviour] .option").length > 0);
  const track = await page.locator("[data-test=track]").boundingBox();
  await page.mouse.click(track.x + track.width * 0.5, track.y + track.height / 2);
  await until(page, "[data-test=live]", "paused");
  const now = (await ask(hostOf("world"), token, ["/truth/world"])).answers["/truth/world"].time;
  await page.waitForFunction((now) => {
    const [minutes, seconds] = document.querySelector("[data-test=time]").textContent.split(":");
    return 60 * Number(minutes) + Number(seconds) < now - 1;
  }, now);
  const held = await text(page, "[data-test=time]");
  await page.waitForTimeout(300);
  assert.equal(await text(page, "[data-test=time]"), held, "a held picture stays");
  await page.click("[data-test=live]");
  await until(page, "[data-test=live]", "live");
  await page.waitForFunction((t) => document.querySelector("[data-test=time]").textContent !== t, held);
});

test("views survive a reload, and the address says what is seen", async () => {
  await page.click("[data-panel=map] [data-layer=particles]");
  await page.click("[data-menu=views]");
  await page.fill(".sheet input[name=name]", "mine");
  await page.click(".sheet form button.filled >> nth=0");
  await until(page, "[data-menu=views]", "mine");
  await page.click("[data-robot=blue2]");
  await page.waitForFunction(() => location.hash.includes("view=mine") && location.hash.includes("robot=blue2"));
  await page.reload();
  await until(page, "[data-menu=views]", "mine");
  await page.waitForSelector("[data-robot=blue2].followed");
  await page.waitForSelector("[data-panel=map] [data-layer=particles].on");
});

test("a second page shows the same match, and without the token only looks", async () => {
  const second = await open(`http://${hostOf("red1")}/`, "#view=behaviour");
  assert.equal(await second.getAttribute("[data-test=write]", "data-may"), "no");
  await second.waitForSelector("[data-test=sim-pause][disabled]");
  const before = await text(page, "[data-test=time]");
  await page.waitForFunction((t) => document.querySelector("[data-test=time]").textContent !== t, before);
  await second.context().close();
});

test("fits an upright tablet, is steered by fingers, and is dark or light", async () => {
  const tablet = await open(await first.url, "#view=position&robot=red2", { viewport: { width: 768, height: 1024 }, hasTouch: true, isMobile: true });
  await tablet.waitForFunction(() => document.querySelector("[data-panel=map] canvas").dataset.robots === "8");
  const size = await tablet.evaluate(() => ({
    page: document.documentElement.scrollWidth,
    map: document.querySelector("[data-panel=map]").clientWidth,
    least: Math.min(...[...document.querySelectorAll("[data-panel]")].map((e) => e.clientWidth)),
  }));
  assert.ok(size.page <= 768 && size.map > 700 && size.least > 180, JSON.stringify(size));
  // the strip moves while its words change: a finger that misses tries again
  const tap = async (selector, then) => {
    for (let tries = 0; tries < 40 && !(await tablet.locator(selector + then).count()); tries++) {
      const { x, y, width, height } = await tablet.locator(selector).boundingBox();
      await tablet.touchscreen.tap(x + width / 2, y + height / 2);
      await tablet.waitForSelector(selector + then, { timeout: 5000 }).catch(() => {});
    }
    assert.ok(await tablet.locator(selector + then).count(), selector);
  };
  await tap("[data-robot=blue3]", ".followed");
  await tap("[data-panel=map] [data-layer=plan]", ".on");
  await tap("[data-panel=map] [data-layer=seen]", ".on"); // what is seen, from each belief about the pose
  await tablet.waitForFunction(() => Number(document.querySelector("[data-panel=map] canvas").dataset.seen) > 0);
  // two fingers apart on the field: it becomes larger, so that less carpet is seen
  const green = () =>
    tablet.evaluate(() => {
      const canvas = document.querySelector("[data-panel=map] canvas");
      const { data } = canvas.getContext("2d").getImageData(4, 4, 1, 1);
      return [...data].slice(0, 3).join();
    });
  const carpet = await green();
  const box = await tablet.locator("[data-panel=map] canvas").boundingBox();
  const touch = await tablet.context().newCDPSession(tablet);
  const fingers = (type, apart) =>
    touch.send("Input.dispatchTouchEvent", {
      type,
      touchPoints: apart ? [-1, 1].map((side, id) => ({ x: box.x + box.width / 2 + side * apart, y: box.y + box.height / 2, id })) : [],
    });
  await fingers("touchStart", 30);
  for (let apart = 50; apart <= 210; apart += 20) await fingers("touchMove", apart);
  await fingers("touchEnd", 0);
  await tablet.waitForFunction((was) => {
    const { data } = document.querySelector("[data-panel=map] canvas").getContext("2d").getImageData(4, 4, 1, 1);
    return [...data].slice(0, 3).join() !== was;
  }, carpet);
  const back = () => tablet.evaluate(() => getComputedStyle(document.body).backgroundColor.match(/\d+/g).map(Number).reduce((a, b) => a + b));
  const dark = await back();
  await tablet.keyboard.press("t");
  await tablet.waitForFunction(() => document.documentElement.classList.contains("light"));
  assert.ok((await back()) > dark + 300, "light is lighter than dark");
  await tablet.reload();
  await tablet.waitForFunction(() => document.documentElement.classList.contains("light"));
  await tablet.waitForSelector("[data-robot=blue3].followed");
  if (pictures) await tablet.screenshot({ path: `${pictures}/tablet.png` });
  await tablet.context().close();
});

test("opens a log of the robot by ranges of bytes", async () => {
  // the logs of the running match have no index yet: they are walked through
  await page.click("[data-menu=logs]");
  await page.click("[data-log='red2.mcap']");
  await until(page, "[data-test=live]", "log");
  const track = await page.locator("[data-test=track]").boundingBox();
  await page.mouse.click(track.x + track.width * 0.6, track.y + track.height / 2);
  await page.waitForFunction(() => Number(document.querySelector("[data-panel=map] canvas")?.dataset.robots) === 1);
  await page.waitForFunction(() => document.querySelectorAll("[data-test=behaviour] .option").length > 0);
  await first.end();
  // and whole files from disk
  await page.click("[data-menu=logs]");
  await page.setInputFiles("[data-test=file]", ["red1", "red2", "red3", "red4", "blue1", "blue2", "blue3", "blue4"].map((n) => `${scratch}/${n}.mcap`));
  await page.waitForFunction(() => document.querySelectorAll(".squad .shirt").length === 8);
  await page.mouse.click(track.x + track.width * 0.6, track.y + track.height / 2);
  await page.waitForFunction(() => document.querySelector("[data-panel=map] canvas").dataset.robots === "8");
});

test("a server that goes and comes back is seen again", async () => {
  let match = play("--live", "0");
  const url = await match.url;
  const { port } = new URL(url);
  const visitor = await open(url, "#view=behaviour");
  await match.end();
  await visitor.waitForSelector("[data-test=lost]");
  match = play("--live", port);
  await match.url;
  await visitor.waitForSelector("[data-test=lost]", { state: "detached" });
  await visitor.waitForFunction(() => document.querySelector("[data-panel=map] canvas").dataset.robots === "8");
  await match.end();
});

let done = 0;
for (const { name, run } of tests) {
  const began = Date.now();
  try {
    await run();
    assert.deepEqual(faults, [], "the browser complains");
    if (pictures && name.startsWith("shows")) await page.screenshot({ path: `${pictures}/debugger.png` });
    console.log(`ok ${++done} ${name} (${((Date.now() - began) / 1000).toFixed(1)} s)`);
  } catch (error) {
    console.log(`failed: ${name}\n${error.stack}\n${faults.join("\n")}`);
    if (page) await page.screenshot({ path: `${root}/out/page.png` }).catch(() => {});
    process.exit(1);
  }
}
console.log(`${done} of ${tests.length}`);
process.exit(0);
