// The pages of pictures in a browser: a label that is drawn is kept, one that is deleted is gone, and a calibration is
// accepted. pictures.sh starts the servers.
import assert from "node:assert/strict";
import { chromium } from "../../web/node_modules/playwright-core/index.mjs";

const [what, address] = process.argv.slice(2);
const browser = await chromium.launch({ executablePath: "/usr/bin/chromium", args: ["--no-sandbox"] });
const page = await browser.newPage({ viewport: { width: 1300, height: 900 } });
page.setDefaultTimeout(60000);
const faults = [];
page.on("pageerror", (error) => faults.push(error.message));
await page.goto(address);
const canvas = page.locator('[data-test="picture"]');
// the picture is there: not all of its pixels are alike
const drawn = () =>
  canvas.evaluate((c) => {
    const bytes = c.getContext("2d").getImageData(0, 0, c.width, c.height).data;
    return c.width > 300 && bytes.some((b, i) => i % 4 === 0 && b !== bytes[0]);
  });
for (let i = 0; i < 300 && !(await drawn()); i++) await page.waitForTimeout(100);
assert.ok(await drawn(), `no picture was drawn: ${faults}`);

if (what === "label") {
  const box = await canvas.boundingBox();
  await page.getByRole("button", { name: "1 ball" }).click();
  await page.mouse.move(box.x + 0.25 * box.width, box.y + 0.25 * box.height);
  await page.mouse.down();
  await page.mouse.move(box.x + 0.5 * box.width, box.y + 0.5 * box.height);
  await page.mouse.up();
  await page.keyboard.press("7"); // robot
  await page.mouse.move(box.x + 0.6 * box.width, box.y + 0.1 * box.height);
  await page.mouse.down();
  await page.mouse.move(box.x + 0.9 * box.width, box.y + 0.9 * box.height);
  await page.mouse.up();
  await page.keyboard.press("Delete"); // the one that was drawn last
  await page.keyboard.press("ArrowRight"); // keeps it
  await page.getByText("1 of 2 labelled").waitFor();
} else {
  await page.getByText("neck:").waitFor();
  await page.locator('[data-test="accept"]').click();
  await page.getByText("accepted").waitFor();
}
assert.deepEqual(faults, []);
if (process.env.NM_PICTURE) await page.screenshot({ path: process.env.NM_PICTURE });
await browser.close();
