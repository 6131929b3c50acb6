// Views: named arrangements of panels. Some ship with the page; people's own are kept in the browser.
import { signal } from "@preact/signals";
import type { Settings } from "./panel";

// An arrangement as people write it: a panel, several in tabs, or a row or column of arrangements with their shares.
export type Layout =
  | string
  | { panel: string; title?: string; settings?: Settings }
  | { tabs: Layout[] }
  | { row: Layout[]; shares?: number[] }
  | { column: Layout[]; shares?: number[] };

export interface View {
  name: string;
  layout?: Layout;
  saved?: unknown; // as the dock wrote it
}

export const shipped: View[] = [
  {
    name: "match",
    layout: {
      row: [
        { column: ["map", { row: ["scene", "log"], shares: [52, 48] }], shares: [62, 38] },
        { column: ["robot", "behaviour"], shares: [50, 50] },
      ],
      shares: [73, 27],
    },
  },
];

const KEY = "nutmeg.views";
export const own = signal<View[]>(load());
function load(): View[] {
  try {
    return JSON.parse(localStorage.getItem(KEY) ?? "[]");
  } catch {
    return [];
  }
}
export function keep(view: View) {
  own.value = [...own.value.filter((v) => v.name !== view.name), view];
  localStorage.setItem(KEY, JSON.stringify(own.value));
}
export function forget(name: string) {
  own.value = own.value.filter((v) => v.name !== name);
  localStorage.setItem(KEY, JSON.stringify(own.value));
}
// People's own views come before shipped ones of the same name, and in the order of the keys 1 to 9.
export const all = () => [...shipped.map((v) => own.value.find((o) => o.name === v.name) ?? v), ...own.value.filter((o) => !shipped.some((v) => v.name === o.name))];
