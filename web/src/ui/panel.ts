// What a panel is. web/README.md explains it with an example.
import { type Signal, signal } from "@preact/signals";
import type { ComponentType } from "preact";
import { onFrame } from "../data/clock";
import type { Robot, Topic } from "../data/robot";
import { followed } from "../data/session";
import { robots } from "../data/clock";

export type Settings = Record<string, any>; // plain JSON, saved with the view

export class PanelContext {
  readonly visible = signal(true);
  readonly size = signal({ width: 0, height: 0 });
  private ends: (() => void)[] = [];
  constructor(
    readonly root: HTMLElement,
    readonly settings: Signal<Settings>,
  ) {}
  // The robot that this panel shows: the one it is pinned to, or the one that the page follows.
  get robot(): Robot | undefined {
    const pinned = this.settings.value.robot;
    return pinned ? robots.value.find((r) => r.key === pinned) : followed.value;
  }
  set(change: Settings) {
    this.settings.value = { ...this.settings.peek(), ...change };
  }
  // Draws at most once a frame, if something has changed and the panel can be seen. `now`: s, the time to show.
  // Ends with the panel, or when the function that it returns is called.
  onFrame(draw: (now: number) => void): () => void {
    const end = onFrame((now) => {
      if (this.visible.peek() && this.size.peek().width > 0) draw(now);
    });
    this.ends.push(end);
    return end;
  }
  onClose(end: () => void) {
    this.ends.push(end);
  }
  // Reads a topic until the panel is closed. undefined: the robot does not have it (yet); ask again.
  private held = new Map<Topic, () => void>();
  topic(robot: Robot | undefined, name: string): Topic | undefined {
    const topic = robot?.topics.peek().get(name);
    if (topic && !this.held.has(topic)) this.held.set(topic, topic.hold());
    return topic;
  }
  // Lets go of all topics but these.
  keepOnly(topics: Set<Topic>) {
    for (const [topic, release] of this.held)
      if (!topics.has(topic)) {
        release();
        this.held.delete(topic);
      }
  }
  close() {
    for (const release of this.held.values()) release();
    this.held.clear();
    for (const end of this.ends.splice(0)) end();
  }
}

export interface PanelKind {
  id: string; // in saved views: never change it
  title: string;
  about: string; // one sentence for the list of panels
  group: "match" | "robot" | "data" | "system";
  view?: ComponentType<{ ctx: PanelContext }>; // a component, or
  mount?: (ctx: PanelContext) => void | Promise<void>; // code that fills ctx.root
}

export const kinds = new Map<string, PanelKind>();
export function panel(kind: PanelKind) {
  kinds.set(kind.id, kind);
}
