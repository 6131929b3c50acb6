// The pages of `nutmeg label` and `nutmeg calibrate camera --page`: a label that is drawn is kept, one that is deleted is
// gone, a calibration is accepted, and all of it is on the disk.
//   pictures.mjs NUTMEG ROOT
import assert from "node:assert/strict";
import { copyFileSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { faults, open, scratch, serve } from "../../web/stage.mjs";

const [nutmeg, root] = process.argv.slice(2);
const read = (name) => readFileSync(`${scratch}/${name}`, "utf8");

// The page of a program with its first picture: not all of its pixels are alike.
async function shown(server) {
  const page = await open(await server.url, { viewport: { width: 1300, height: 900 } });
  await page.waitForFunction(() => {
    const c = document.querySelector('[data-test="picture"]');
    if (!(c?.width > 300)) return false;
    const bytes = c.getContext("2d").getImageData(0, 0, c.width, c.height).data;
    return bytes.some((b, i) => i % 4 === 0 && b !== bytes[0]);
  });
  return page;
}

mkdirSync(`${scratch}/real`);
for (const name of ["a", "b"]) copyFileSync(`${root}/docs/pictures/kickabout.jpg`, `${scratch}/real/${name}.jpg`);
writeFileSync(`${scratch}/real/images.csv`, "image,width,height,set\nother.jpg,1,1,ours\n");
const label = serve(nutmeg, ["label", `${scratch}/real`, "--live", "0"], root);
let page = await shown(label);
const box = await page.locator('[data-test="picture"]').boundingBox();
async function draw(x0, y0, x1, y1) {
  await page.mouse.move(box.x + x0 * box.width, box.y + y0 * box.height);
  await page.mouse.down();
  await page.mouse.move(box.x + x1 * box.width, box.y + y1 * box.height);
  await page.mouse.up();
}
await page.getByRole("button", { name: "1 ball" }).click();
await draw(0.25, 0.25, 0.5, 0.5);
await page.keyboard.press("7"); // robot
await draw(0.6, 0.1, 0.9, 0.9);
await page.keyboard.press("Delete"); // the one that was drawn last
await page.keyboard.press("ArrowRight"); // keeps it
await page.getByText("1 of 2 labelled").waitFor();
await label.end();
const labels = read("real/labels.csv");
assert.equal(labels.match(/^a.jpg,ball,/gm)?.length, 1, labels);
assert.ok(!labels.includes("robot"), labels);
const coco = JSON.parse(read("real/coco.json"));
assert.ok(coco.images.some((i) => i.file_name === "a.jpg") && coco.annotations.every((a) => a.category_id === 1) && coco.annotations.length === 1, JSON.stringify(coco));
assert.match(read("real/annotations.csv"), /^a.jpg,ball,/m);
assert.match(read("real/images.csv.before"), /^other.jpg,1,1,ours/m, "what others wrote is lost");

const calibrate = serve(nutmeg, ["calibrate", "camera", "--sim", "--page", "0", "-o", `${scratch}/cameras.saved.yaml`, "--picture", `${scratch}/camera.png`], root);
page = await shown(calibrate);
await page.getByText("neck:").waitFor();
await page.locator('[data-test="accept"]').click();
await page.getByText("accepted").waitFor();
assert.equal(await calibrate.ended, 0);
assert.match(read("cameras.saved.yaml"), /neck: /);
assert.deepEqual(faults, []);
process.exit(0);
