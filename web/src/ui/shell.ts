// What belongs to the page as a whole: its theme, its address, its keys, short messages.
import { effect, signal } from "@preact/signals";
import { changed, cursor, robots } from "../data/clock";
import { ofFile } from "../data/mcap";
import { followed, openLogs, wanted } from "../data/session";
import { coloursChanged } from "./canvas";
import { currentLayout, modified, openView, view } from "./dock";
import { goLive, jump, pause, stepBy } from "./timeline";
import { all } from "./views";

// ---- theme ----

const light = signal((localStorage.getItem("nutmeg.theme") ?? (matchMedia("(prefers-color-scheme: light)").matches ? "light" : "dark")) === "light");
effect(() => {
  document.documentElement.classList.toggle("light", light.value);
  coloursChanged();
  changed();
});
export function toggleTheme() {
  light.value = !light.value;
  localStorage.setItem("nutmeg.theme", light.value ? "light" : "dark");
}
export const isLight = light;

// ---- short messages ----

export interface Toast {
  id: number;
  text: string;
  error: boolean;
}
export const toasts = signal<Toast[]>([]);
let serial = 0;
export function say(text: string, error = false) {
  const id = ++serial;
  toasts.value = [...toasts.value.filter((t) => t.text !== text).slice(-3), { id, text, error }];
  setTimeout(() => (toasts.value = toasts.value.filter((t) => t.id !== id)), error ? 8000 : 4000);
}
// what a robot complains about
const told = new Map<string, number>();
effect(() => {
  for (const robot of robots.value) {
    const list = robot.notices.value;
    const from = told.get(robot.key) ?? 0;
    for (const n of list) if (n.level > 0 && n.time > from) say(`${robot.name || robot.key}: ${n.text}`, n.level > 1);
    if (list.length) told.set(robot.key, list[list.length - 1].time);
  }
});

// ---- the address restores what is seen: #view=match&robot=red1&t=12.3, and the arrangement where it was changed ----

export function hashNow(): Record<string, string> {
  return Object.fromEntries(new URLSearchParams(location.hash.slice(1)));
}
export function keepAddress() {
  let timer = 0;
  effect(() => {
    const part = new URLSearchParams();
    part.set("view", view.value);
    const robot = wanted.value || followed.value?.key;
    if (robot) part.set("robot", robot);
    if (cursor.value !== undefined) part.set("t", cursor.value.toFixed(3));
    clearTimeout(timer);
    timer = window.setTimeout(() => history.replaceState(null, "", `#${part}`), 250);
  });
}
async function pack(text: string): Promise<string> {
  const stream = new Blob([text]).stream().pipeThrough(new CompressionStream("deflate-raw"));
  const bytes = new Uint8Array(await new Response(stream).arrayBuffer());
  return btoa(String.fromCharCode(...bytes)).replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");
}
export async function unpack(text: string): Promise<string> {
  const bytes = Uint8Array.from(atob(text.replaceAll("-", "+").replaceAll("_", "/")), (c) => c.charCodeAt(0));
  return new Response(new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate-raw"))).text();
}
export async function shareLink() {
  const part = new URLSearchParams(location.hash.slice(1));
  if (modified.value) part.set("layout", await pack(JSON.stringify(currentLayout())));
  const url = new URL(location.href);
  url.hash = part.toString();
  history.replaceState(null, "", url);
  try {
    await navigator.clipboard.writeText(url.href);
    say("The link is copied. It holds the token, if this page has one.");
  } catch {
    say("The address bar has the link now. It holds the token, if this page has one.");
  }
}

// ---- files that are dropped on the page ----

export function dropLogs() {
  addEventListener("dragover", (e) => {
    if (e.dataTransfer?.types.includes("Files")) e.preventDefault();
  });
  addEventListener("drop", (e) => {
    const files = [...(e.dataTransfer?.files ?? [])];
    if (!files.length) return;
    e.preventDefault();
    openFiles(files);
  });
}
export async function openFiles(files: File[]) {
  try {
    await openLogs(files.map((f) => ({ name: f.name, bytes: ofFile(f) })));
    say(files.length === 1 ? `${files[0].name} is open. Reload the page to see the robots again.` : `${files.length} logs are open. Reload the page to see the robots again.`);
  } catch (error) {
    say((error as Error).message, true);
  }
}

// ---- keys ----

export function listenToKeys() {
  addEventListener("keydown", (e) => {
    const target = e.target as HTMLElement;
    if (e.ctrlKey || e.metaKey || e.altKey || /^(INPUT|TEXTAREA|SELECT)$/.test(target.tagName) || target.isContentEditable) return;
    const digit = /^[1-9]$/.exec(e.key);
    if (digit) {
      const chosen = all()[Number(e.key) - 1];
      if (chosen) openView(chosen.name);
    } else if (e.key === " ") pause();
    else if (e.key === "Escape" || e.key === "End") goLive();
    else if (e.key === "j" || e.key === "J") jump(-1);
    else if (e.key === "l" || e.key === "L") jump(1);
    else if (e.key === "ArrowLeft" || e.key === ",") stepBy(e.shiftKey ? -1 : -0.1);
    else if (e.key === "ArrowRight" || e.key === ".") stepBy(e.shiftKey ? 1 : 0.1);
    else if (e.key === "t") toggleTheme();
    else return;
    e.preventDefault();
  });
}
