// A robot as the page knows it: its topics with what they said, its parameters and services, and how the connection is.
// It may be a running one (live.ts) or a log (mcap.ts); panels see no difference.
import { signal } from "@preact/signals";
import type { Message, Schema } from "./schema";

export interface Entry {
  time: number; // s, when it was published
  value: Message;
}

// A topic of a robot. Who reads it holds it; nothing arrives while nobody does.
export interface Topic {
  readonly robot: Robot;
  readonly name: string; // "/ball"
  readonly type: string; // "nutmeg_msgs/msg/BallModel"
  readonly schema: Schema;
  holders: number;
  hold(): () => void;
  at(time: number): Entry | undefined; // the last message at or before this time
  each(after: number, until: number, tell: (time: number, value: Message) => void, load?: boolean): void; // of a log: false: only what is loaded
  stats(): TopicStats;
}
export interface TopicStats {
  count: number;
  bytes: number;
  newest: number; // s, NaN: none
}

// What a topic has said since the last look. When time begins again, or when more of a log is loaded, `again` is called
// and everything is told once more.
export class News {
  private until = -Infinity;
  private version = -1;
  // True: something is new.
  read(topic: Topic, again: () => void, tell: (time: number, value: Message) => void): boolean {
    const end = topic.stats().newest;
    const log = topic.robot.connection.peek() === "log";
    const anew = log ? topic.robot.version !== this.version : end < this.until - 1;
    if (anew) {
      this.until = -Infinity;
      this.version = topic.robot.version;
      again();
    }
    if (!(end > this.until)) return anew;
    topic.each(this.until, end, tell, !log);
    this.until = end;
    return true;
  }
}

export interface Parameter {
  name: string;
  value: unknown;
  type?: string;
}
export interface Service {
  id: number;
  name: string;
  type: string;
  request: string; // schema texts
  response: string;
}
export interface Notice {
  level: number; // 0 info, 1 warning, 2 error
  text: string;
  time: number; // ms of the browser
}
export interface Graph {
  published: { name: string; by: string[] }[];
  subscribed: { name: string; by: string[] }[];
  services: { name: string; by: string[] }[];
}

export type Connection = "connecting" | "connected" | "lost" | "log";

export abstract class Robot {
  readonly connection = signal<Connection>("connecting");
  readonly mayWrite = signal(false);
  readonly topics = signal<ReadonlyMap<string, Topic>>(new Map());
  readonly parameters = signal<ReadonlyMap<string, Parameter>>(new Map());
  readonly services = signal<ReadonlyMap<string, Service>>(new Map());
  readonly graph = signal<Graph | undefined>(undefined);
  readonly notices = signal<Notice[]>([]);
  readonly metadata = signal<Record<string, string>>({});
  readonly dropping = signal(false); // the server drops messages for this page now
  drops = 0; // how often that began
  version = 0; // of a log: grows as more of it is read
  constructor(
    public key: string, // names it in views and addresses
    public name: string,
    public team: number | undefined, // 0 or 1 in a simulation; undefined: not known
  ) {}
  readonly isPlayer = signal(true); // false: the world of a simulation, its referee
  topic(name: string): Topic | undefined {
    return this.topics.value.get(name);
  }
  abstract get now(): number; // s, the newest time that it told; NaN: none
  abstract get span(): [number, number]; // s, what can be shown of it
  abstract setParameters(values: { name: string; value: unknown }[]): Promise<Parameter[]>;
  abstract call(service: string, request: unknown): Promise<any>;
  abstract publish(topic: string, type: string, message: unknown): void;
  abstract asset(uri: string): Promise<Uint8Array>;
  abstract close(): void;

  notice(level: number, text: string) {
    this.notices.value = [...this.notices.value.slice(-49), { level, text, time: Date.now() }];
  }
}
