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

const value = (topic: string, path: string) => ({ topic, path });
export const shipped: View[] = [
  {
    name: "match",
    layout: {
      row: [
        { column: ["map", { row: ["scene", "image", "log"], shares: [36, 30, 34] }], shares: [62, 38] },
        { column: ["robot", "behaviour"], shares: [50, 50] },
      ],
      shares: [73, 27],
    },
  },
  {
    name: "walk",
    layout: {
      row: [
        { column: [{ panel: "scene", settings: { camera: "robot", balance: true } }, "robot"], shares: [65, 35] },
        {
          column: [
            { panel: "graph", title: "Speed", settings: { series: [value("/walk_command", "velocity.linear.x"), value("/walk_state", "velocity.linear.x"), value("/odometry", "twist.twist.linear.x")] } },
            { panel: "graph", title: "Balance", settings: { series: [value("/body_state", "center_of_mass.y"), value("/body_state", "zmp.y"), value("/walk_state", "instability")] } },
            { panel: "graph", title: "Feet", settings: { series: [value("/foot_pressure", "left.force"), value("/foot_pressure", "right.force"), value("/support_state", "left_share")] } },
          ],
        },
        { column: [{ panel: "xy", title: "Centre of mass", settings: { x: value("/body_state", "center_of_mass.y"), y: value("/body_state", "center_of_mass.x") } }, "parameters"] },
      ],
      shares: [36, 38, 26],
    },
  },
  {
    name: "vision",
    layout: {
      row: [
        { column: ["image", { panel: "texts", settings: { text: value("/behavior_state", "reason") } }], shares: [75, 25] },
        { column: ["polar", { panel: "map", settings: { layers: { percepts: true, paths: false } } }] },
      ],
      shares: [58, 42],
    },
  },
  {
    name: "position",
    layout: {
      row: [
        { panel: "map", settings: { layers: { particles: true, percepts: true, beliefs: true, paths: false } } },
        {
          column: [
            { panel: "graph", title: "Position", settings: { series: [value("/pose", "pose.pose.position.x"), value("/pose", "pose.pose.position.y")] } },
            { panel: "graph", title: "Variance", settings: { series: [value("/pose", "pose.covariance[0]"), value("/pose", "pose.covariance[7]"), value("/pose", "pose.covariance[35]")] } },
            { panel: "texts", title: "Resets", settings: { text: value("/pose_hypotheses", "reset_reason") } },
          ],
        },
      ],
      shares: [60, 40],
    },
  },
  {
    name: "behaviour",
    layout: {
      row: [
        { column: ["behaviour", { panel: "texts", title: "Reasons", settings: { text: value("/behavior_state", "reason") } }], shares: [60, 40] },
        { column: [{ panel: "map", settings: { layers: { plan: true, beliefs: true } } }, { panel: "table", title: "Team", settings: { rows: [value("/team_message", "role"), value("/team_message", "action"), value("/behavior_state", "skill"), value("/team_message", "time_to_ball"), value("/team_message", "ball_age"), value("/strategy_plan", "may_claim_ball")] } }], shares: [62, 38] },
      ],
      shares: [36, 64],
    },
  },
  {
    name: "servos",
    layout: {
      row: [
        "servos",
        {
          column: [
            { panel: "graph", title: "Voltage", settings: { series: [value("/servo_states", "voltage[0]"), value("/battery", "voltage")] } },
            { panel: "raw", settings: { topic: "/servo_states" } },
          ],
        },
      ],
      shares: [62, 38],
    },
  },
  {
    name: "referee",
    layout: { row: ["map", { column: ["referee", "team"], shares: [50, 50] }], shares: [55, 45] },
  },
  {
    name: "system",
    layout: { row: [{ column: ["cycles", "topics"] }, { column: ["nodes", "hcm"] }] },
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
