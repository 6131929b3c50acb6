// What a topic has said lately, as bytes in the order of their times. The oldest messages leave when there are too many
// bytes or when they are too old. Bytes lie in large blocks, because millions of small arrays would not fit.

const BLOCK = 1 << 16;
export const HORIZON = 300; // s that a live page remembers

interface Block {
  bytes: Uint8Array;
  used: number;
  times: number[]; // s
  starts: number[];
}

export class History {
  private blocks: Block[] = [];
  private bytes = 0;
  count = 0; // ever
  total = 0; // bytes ever
  constructor(private most = 3 << 19) {}

  get newest(): number {
    const block = this.blocks[this.blocks.length - 1];
    return block ? block.times[block.times.length - 1] : NaN;
  }
  get oldest(): number {
    return this.blocks.length ? this.blocks[0].times[0] : NaN;
  }

  push(time: number, message: Uint8Array) {
    if (time < this.newest - 1) this.clear(); // time began again: a simulation was reset
    let block = this.blocks[this.blocks.length - 1];
    if (!block || block.used + message.length > block.bytes.length) {
      const size = Math.max(BLOCK, message.length);
      block = { bytes: new Uint8Array(size), used: 0, times: [], starts: [] };
      this.blocks.push(block);
      this.bytes += size;
      while (this.blocks.length > 2 && (this.bytes > this.most || this.blocks[1].times[0] < time - HORIZON))
        this.bytes -= this.blocks.shift()!.bytes.length;
    }
    block.bytes.set(message, block.used);
    block.times.push(Math.max(time, block.times[block.times.length - 1] ?? time));
    block.starts.push(block.used);
    block.used += message.length;
    this.count++;
    this.total += message.length;
  }
  clear() {
    this.blocks = [];
    this.bytes = 0;
  }

  // The last message at or before a time; its key changes with the message.
  at(time: number): { time: number; bytes: Uint8Array } | undefined {
    for (let b = this.blocks.length - 1; b >= 0; b--) {
      const block = this.blocks[b];
      if (block.times[0] > time) continue;
      let low = 0;
      let high = block.times.length - 1;
      while (low < high) {
        const mid = (low + high + 1) >> 1;
        if (block.times[mid] <= time) low = mid;
        else high = mid - 1;
      }
      return { time: block.times[low], bytes: this.slice(block, low) };
    }
    return undefined;
  }
  // Calls `tell` with every message after one time up to another.
  each(after: number, until: number, tell: (time: number, bytes: Uint8Array) => void) {
    for (const block of this.blocks) {
      if (block.times[block.times.length - 1] <= after || block.times[0] > until) continue;
      for (let i = 0; i < block.times.length; i++)
        if (block.times[i] > after && block.times[i] <= until) tell(block.times[i], this.slice(block, i));
    }
  }
  private slice(block: Block, i: number): Uint8Array {
    return block.bytes.subarray(block.starts[i], block.starts[i + 1] ?? block.used);
  }
}
