// Builds the page: src/ becomes dist/*.gz, which the program embeds. The same source gives the same JavaScript on every
// machine. With --check it builds nothing new and fails if dist is not what the source gives.
import { readFileSync, readdirSync, rmSync, mkdirSync, writeFileSync } from "node:fs";
import { gunzipSync, gzipSync } from "node:zlib";
import { build } from "esbuild";

const here = new URL(".", import.meta.url).pathname;
const dist = `${here}dist`;
const check = process.argv.includes("--check");

const result = await build({
  absWorkingDir: here,
  entryPoints: { main: "src/main.tsx" },
  bundle: true,
  minify: true,
  splitting: true,
  format: "esm",
  target: "es2022",
  jsx: "automatic",
  jsxImportSource: "preact",
  outdir: "dist",
  chunkNames: "part-[hash]",
  assetNames: "[name]",
  legalComments: "linked",
  alias: { "three/examples/jsm/loaders/ColladaLoader.js": "./src/scene/no_collada.ts" },
  write: false,
  logLevel: "warning",
});
const files = new Map(result.outputFiles.map((f) => [f.path.split("/").pop(), f.contents]));
// parts that are loaded later get names that do not change with their content
const parts = [...files.keys()].filter((n) => /^part-\w+\.js$/.test(n)).map((n) => n.slice(0, -3));
parts.sort((a, b) => files.get(`${b}.js`).length - files.get(`${a}.js`).length);
const renamed = new Map();
const licences = [];
for (const [name, bytes] of files) {
  if (name.endsWith(".LEGAL.txt")) {
    licences.push(Buffer.from(bytes).toString());
    continue;
  }
  let text = Buffer.from(bytes).toString().replace(/\n?\/[/*]!? *For license information please see [^\n]*\n?/g, "\n");
  parts.forEach((part, i) => (text = text.replaceAll(part, `part${i}`)));
  const at = parts.findIndex((p) => name === `${p}.js`);
  renamed.set(at < 0 ? name : `part${at}.js`, text.trim() + "\n");
}
// parts that main.js needs at once are fetched with it
const early = [...renamed.keys()].filter((n) => renamed.get("main.js").includes(`from"./${n}"`)).map((n) => `    <link rel="modulepreload" href="${n}">\n`);
renamed.set("index.html", readFileSync(`${here}src/index.html`, "utf8").replace("  </head>", `${early.join("")}  </head>`));
renamed.set("licences.txt", readFileSync(`${here}src/licences.txt`, "utf8") + licences.sort().join("\n"));

let total = 0;
const wrong = [];
if (!check) {
  rmSync(dist, { recursive: true, force: true });
  mkdirSync(dist);
}
for (const [name, text] of [...renamed].sort()) {
  const packed = gzipSync(text, { level: 9 });
  total += packed.length;
  if (!check) writeFileSync(`${dist}/${name}.gz`, packed);
  else {
    let old = "";
    try {
      old = gunzipSync(readFileSync(`${dist}/${name}.gz`)).toString();
    } catch {}
    if (old !== text) wrong.push(name);
  }
  if (!check) console.log(`${name.padEnd(16)} ${String(text.length).padStart(8)} bytes, ${String(packed.length).padStart(7)} with gzip`);
}
if (check) for (const name of readdirSync(dist)) if (!renamed.has(name.replace(/\.gz$/, ""))) wrong.push(name);
console.log(`the page has ${Math.round(total / 1000)} kB with gzip`);
const most = 400000;
if (total > most) {
  console.error(`the page may have at most ${most / 1000} kB`);
  process.exit(1);
}
if (wrong.length) {
  console.error(`web/dist is not what web/src gives (${wrong.join(", ")}): run npm run build in web/ and commit the result`);
  process.exit(1);
}
