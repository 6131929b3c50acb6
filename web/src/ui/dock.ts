// The dock: panels side by side, in tabs and floating, as dockview arranges them.
import { effect, signal } from "@preact/signals";
import { h, render } from "preact";
import { createDockview, type DockviewApi, type GroupPanelPartInitParameters, type IContentRenderer } from "dockview";
import { changed, robots } from "../data/clock";
import type { Robot } from "../data/robot";
import { kinds, PanelContext, type Settings } from "./panel";
import { all, keep, type Layout, type View } from "./views";

class PanelContent implements IContentRenderer {
  readonly element = document.createElement("div");
  private readonly inside = document.createElement("div");
  private ctx?: PanelContext;
  private stop?: () => void;
  constructor(private kindId: string) {
    this.element.className = "panel";
    this.inside.className = "inside";
    this.element.append(this.inside);
  }
  // Keeps a panel on one robot, whichever the page follows.
  private addPin(ctx: PanelContext) {
    const pin = document.createElement("button");
    pin.className = "pin";
    pin.onclick = () => ctx.set({ robot: ctx.settings.peek().robot ? undefined : ctx.robot?.key });
    this.element.append(pin);
    ctx.onClose(
      effect(() => {
        const pinned = ctx.settings.value.robot as string | undefined;
        const robot = robots.value.find((r) => r.key === pinned);
        pin.textContent = pinned ? (robot?.name ?? pinned) : "pin";
        pin.title = pinned ? "follow the chosen robot again" : "stay on this robot";
        pin.classList.toggle("on", !!pinned);
      }),
    );
  }
  init(parameters: GroupPanelPartInitParameters) {
    const kind = kinds.get(this.kindId);
    this.element.dataset.panel = this.kindId;
    const settings = signal<Settings>(parameters.params ?? {});
    const ctx = (this.ctx = new PanelContext(this.inside, settings));
    const watch = new ResizeObserver(([entry]) => {
      const { width, height } = entry.contentRect;
      ctx.size.value = { width, height };
      changed();
    });
    watch.observe(this.element);
    ctx.onClose(() => watch.disconnect());
    ctx.visible.value = parameters.api.isVisible;
    parameters.api.onDidVisibilityChange((e) => {
      ctx.visible.value = e.isVisible;
      changed();
    });
    let first = true;
    this.stop = effect(() => {
      const value = settings.value;
      if (!first) {
        parameters.api.updateParameters(value);
        touched();
      }
      first = false;
      changed();
    });
    if (kind?.group === "robot" || kind?.group === "data") this.addPin(ctx);
    if (!kind) {
      this.inside.textContent = `This page has no panel “${this.kindId}”.`;
      this.inside.classList.add("empty");
    } else if (kind.view) {
      render(h(kind.view, { ctx }), this.inside);
      ctx.onClose(() => render(null, this.inside));
    } else
      Promise.resolve(kind.mount!(ctx)).catch((error) => {
        this.inside.textContent = `This panel cannot be shown: ${error.message}`;
        this.inside.classList.add("empty");
      });
  }
  dispose() {
    this.stop?.();
    this.ctx?.close();
  }
}

let api: DockviewApi;
export const view = signal("match"); // its name
export const modified = signal(false); // the arrangement is no longer that of the view
let quiet = true;
function touched() {
  if (quiet) return;
  if (shape() === opened) return;
  modified.value = true;
  saveSoon();
}
// The arrangement without what changes with the window: shares in steps of four per cent.
let opened = "";
function shape(): string {
  const json = api.toJSON() as any;
  const visit = (node: any): any => {
    if (node.type !== "branch") return node.data.views;
    const sum = node.data.reduce((a: number, c: any) => a + (c.size ?? 0), 0) || 1;
    return node.data.map((c: any) => [Math.round((25 * (c.size ?? 0)) / sum), visit(c)]);
  };
  const panels = Object.values(json.panels).map((p: any) => [p.id, p.params]);
  return JSON.stringify([visit(json.grid.root), panels, (json.floatingGroups ?? []).length]);
}

// ---- arrangements ----

let serial = 0;
function grid(layout: Layout, vertical: boolean, size: number, panels: Record<string, unknown>): any {
  if (typeof layout === "object" && ("row" in layout || "column" in layout)) {
    const children = "row" in layout ? layout.row : layout.column;
    const isColumn = "column" in layout;
    const sum = (layout.shares ?? children.map(() => 1)).reduce((a, b) => a + b, 0);
    const made = children.map((child, i) => grid(child, !isColumn, (1000 * (layout.shares?.[i] ?? 1)) / sum, panels));
    // branches of the tree lie across each other in turn
    if (isColumn === vertical) return { type: "branch", data: made, size };
    return { type: "branch", data: [{ type: "branch", data: made, size: 1000 }], size };
  }
  const ids = (typeof layout === "object" && "tabs" in layout ? layout.tabs : [layout]).map((p) => {
    const { panel, title, settings } = typeof p === "string" ? { panel: p, title: undefined, settings: undefined } : (p as { panel: string; title?: string; settings?: Settings });
    const id = `${panel}-${++serial}`;
    panels[id] = { id, contentComponent: panel, title: title ?? kinds.get(panel)?.title ?? panel, params: settings ?? {} };
    return id;
  });
  return { type: "leaf", data: { views: ids, activeView: ids[0], id: `group-${++serial}` }, size };
}
// On an upright screen the parts of a row lie below each other, and panels that lay below each other side by side.
function upright(layout: Layout): Layout {
  if (typeof layout !== "object" || !("row" in layout)) return layout;
  const isPanel = (l: Layout) => typeof l === "string" || "panel" in l;
  return { column: layout.row.map((l) => (typeof l === "object" && "column" in l && l.column.every(isPanel) ? { row: l.column, shares: l.shares } : l)), shares: layout.shares };
}
function toDock(layout: Layout, width: number, height: number): any {
  const panels = {};
  let root = grid(height > width ? upright(layout) : layout, false, 1000, panels);
  if (root.type === "leaf") root = { type: "branch", data: [root], size: 1000 };
  // sizes along the way are shares of what is there
  const scale = (node: any, along: number, across: number) => {
    if (node.type !== "branch") return;
    const sum = node.data.reduce((a: number, c: any) => a + c.size, 0);
    for (const child of node.data) {
      child.size = (child.size / sum) * along;
      scale(child, across, child.size);
    }
  };
  scale(root, width, height);
  root.size = height;
  return { grid: { root, width, height, orientation: "HORIZONTAL" }, panels };
}

export function openView(name: string) {
  const found = all().find((v) => v.name === name) ?? all()[0];
  const draft = drafts()[found.name];
  show(found, draft);
}
function show(found: View, draft?: unknown) {
  quiet = true;
  const box = element.getBoundingClientRect();
  const dock = draft ?? found.saved ?? toDock(found.layout ?? "map", box.width || 1200, box.height || 700);
  try {
    api.fromJSON(dock as any);
  } catch (error) {
    console.error(error);
    if (found.layout) api.fromJSON(toDock(found.layout, box.width || 1200, box.height || 700));
  }
  view.value = found.name;
  modified.value = draft !== undefined;
  setTimeout(() => {
    opened = shape();
    quiet = false;
  }, 300);
}
export function saveView(name: string) {
  keep({ name, saved: api.toJSON() });
  setDraft(view.value, undefined);
  if (name !== view.value) view.value = name;
  modified.value = false;
  opened = shape();
}
export function resetView() {
  setDraft(view.value, undefined);
  openView(view.value);
}
export function openPanel(kind: string, settings: Settings = {}, title?: string) {
  const active = api.activeGroup;
  api.addPanel({
    id: `${kind}-${Date.now()}`,
    component: kind,
    title: title ?? kinds.get(kind)?.title ?? kind,
    params: settings,
    position: active ? { referenceGroup: active } : undefined,
  });
}
// Views as files beside the line-up of a robot.
const LIST = 0;
const LOAD = 1;
const SAVE = 2;
async function askView(robot: Robot, request: Record<string, unknown>): Promise<any> {
  const answer = await robot.call("/nutmeg/view", request);
  if (!answer.success) throw new Error(answer.message);
  return answer;
}
export const fileViews = async (robot: Robot): Promise<string[]> => (await askView(robot, { command: LIST })).names;
export async function saveFileView(robot: Robot, name: string) {
  await askView(robot, { command: SAVE, name, text: JSON.stringify(api.toJSON()) });
}
export async function openFileView(robot: Robot, name: string) {
  const { text } = await askView(robot, { command: LOAD, name });
  show({ name, saved: JSON.parse(text) });
}

export const currentLayout = (): unknown => api.toJSON();
export function showLayout(layout: unknown) {
  show({ name: view.value, saved: layout }, layout);
}

// What somebody has moved in a view stays as it was left, without a question, until it is saved or reset.
const DRAFTS = "nutmeg.drafts";
function drafts(): Record<string, unknown> {
  try {
    return JSON.parse(localStorage.getItem(DRAFTS) ?? "{}");
  } catch {
    return {};
  }
}
function setDraft(name: string, layout: unknown) {
  const all = drafts();
  if (layout === undefined) delete all[name];
  else all[name] = layout;
  localStorage.setItem(DRAFTS, JSON.stringify(all));
}
let timer = 0;
function saveSoon() {
  clearTimeout(timer);
  timer = window.setTimeout(() => modified.peek() && setDraft(view.peek(), api.toJSON()), 400);
}

let element: HTMLElement;
export function makeDock(root: HTMLElement, first: string) {
  element = root;
  api = createDockview(root, {
    createComponent: ({ name }) => new PanelContent(name),
    theme: { name: "nutmeg", className: "dockview-theme-nutmeg", gap: 6 },
    disableFloatingGroups: false,
  });
  api.onDidLayoutChange(() => touched());
  openView(first);
}
