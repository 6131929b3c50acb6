// A value of a topic over time: grows as messages come, by the stamp of the message where it has one.
import type { Topic } from "./robot";
import { numberAt } from "./schema";
import { HORIZON } from "./history";

export class Series {
  times: number[] = [];
  values: number[] = [];
  private until = -Infinity;
  private from = Infinity; // of a log: what was read so far
  private version = 0;
  constructor(
    readonly topic: Topic,
    readonly path: string,
  ) {}
  // Reads what came since the last call; of a log, what lies in the window.
  update(from: number, to: number) {
    const { topic } = this;
    const isLog = topic.robot.connection.peek() === "log";
    const end = topic.stats().newest;
    if (isLog) {
      if (from >= this.from && to <= this.until && this.version === topic.robot.version) return;
      this.version = topic.robot.version;
      this.times = [];
      this.values = [];
      topic.each(from, to, (time, value) => this.add(time, value));
      this.from = from;
      this.until = to;
      return;
    }
    if (end < this.until - 1) {
      this.times = [];
      this.values = [];
      this.until = -Infinity;
    }
    if (!(end > this.until)) return;
    topic.each(this.until, end, (time, value) => this.add(time, value));
    this.until = end;
    if (this.times.length && this.times[0] < end - HORIZON * 1.2) {
      const n = this.index(end - HORIZON);
      this.times.splice(0, n);
      this.values.splice(0, n);
    }
  }
  private add(time: number, value: any) {
    const stamp = value.header?.stamp;
    const at = stamp ? stamp.sec + stamp.nanosec * 1e-9 : time;
    this.times.push(stamp && Math.abs(at - time) < 5 ? at : time);
    this.values.push(numberAt(value, this.path));
  }
  // The first index at or after a time.
  index(time: number): number {
    let low = 0;
    let high = this.times.length;
    while (low < high) {
      const mid = (low + high) >> 1;
      if (this.times[mid] < time) low = mid + 1;
      else high = mid;
    }
    return low;
  }
  // What lies in a window, thinned to the least and the greatest value of each of `columns` parts.
  window(from: number, to: number, columns: number): [number[], (number | null)[]] {
    const a = Math.max(this.index(from) - 1, 0);
    const b = Math.min(this.index(to) + 1, this.times.length);
    if (b - a <= 4 * columns) return this.broken(a, b);
    const xs: number[] = [];
    const ys: (number | null)[] = [];
    const step = (b - a) / columns;
    for (let c = 0; c < columns; c++) {
      const [i0, i1] = [Math.floor(a + c * step), Math.floor(a + (c + 1) * step)];
      let low = i0;
      let high = i0;
      for (let i = i0; i < i1; i++) {
        if (this.values[i] < this.values[low]) low = i;
        if (this.values[i] > this.values[high]) high = i;
      }
      for (const i of low < high ? [low, high] : [high, low]) {
        xs.push(this.times[i]);
        ys.push(this.values[i]);
      }
    }
    return [xs, ys];
  }
  // Where nothing was heard for a while, the line is broken.
  private broken(a: number, b: number): [number[], (number | null)[]] {
    const xs: number[] = [];
    const ys: (number | null)[] = [];
    for (let i = a; i < b; i++) {
      if (i > a && this.times[i] - this.times[i - 1] > 1.5) {
        xs.push(this.times[i - 1] + 1e-6);
        ys.push(null);
      }
      xs.push(this.times[i]);
      ys.push(Number.isFinite(this.values[i]) ? this.values[i] : null);
    }
    return [xs, ys];
  }
  at(time: number): number {
    const i = this.index(time);
    return this.times[i] === time ? this.values[i] : (this.values[i - 1] ?? NaN);
  }
}
