// Chooses a value of a topic by typing: "/ball pos x" finds /ball position.x.
import { useEffect, useRef, useState } from "preact/hooks";
import type { Robot } from "../data/robot";
import { isNumeric, numericPaths, type Schema } from "../data/schema";
import { shown } from "../data/clock";

export interface Pick {
  robot?: string; // key; undefined: the followed one
  topic: string;
  path: string;
}
export const pickText = (p: Pick) => `${p.robot ? `${p.robot} ` : ""}${p.topic.slice(1)}.${p.path}`;
const DRAG = "application/x-nutmeg-path";
export function dragPick(e: DragEvent, pick: Pick) {
  e.dataTransfer?.setData(DRAG, JSON.stringify(pick));
  e.dataTransfer?.setData("text/plain", pickText(pick));
}
// Calls `take` with what is dropped on an element.
export function acceptPicks(element: HTMLElement, take: (pick: Pick) => void) {
  element.addEventListener("dragover", (e) => {
    if (!e.dataTransfer?.types.includes(DRAG)) return;
    e.preventDefault();
    e.stopPropagation();
  });
  element.addEventListener("drop", (e) => {
    const text = e.dataTransfer?.getData(DRAG);
    if (!text) return;
    e.preventDefault();
    e.stopPropagation();
    take(JSON.parse(text));
  });
}

function stringPaths(schema: Schema): string[] {
  const paths: string[] = [];
  const visit = (name: string, prefix: string, depth: number) => {
    for (const f of (name ? schema.shapes.get(name) : schema.root)?.fields ?? []) {
      if (f.type === "string") paths.push(prefix + f.name + (f.array ? "[0]" : ""));
      else if (!isNumeric(f.type) && !f.array && depth < 5) visit(f.type, `${prefix}${f.name}.`, depth + 1);
    }
  };
  visit("", "", 0);
  return paths;
}

const MOST = 60;
export function Picker({ robot, kind = "number", hint = "add a value", onPick }: { robot: Robot | undefined; kind?: "number" | "text" | "topic"; hint?: string; onPick: (pick: Pick) => void }) {
  const [text, set] = useState("");
  const [open, setOpen] = useState(false);
  const box = useRef<HTMLDivElement>(null);
  const [found, setFound] = useState<Pick[]>([]);
  useEffect(() => {
    if (!open || !robot) return;
    const words = text.toLowerCase().split(/\s+/).filter(Boolean);
    const list: Pick[] = [];
    const releases: (() => void)[] = [];
    const search = () => {
      list.length = 0;
      for (const topic of robot.topics.peek().values()) {
        const name = topic.name.toLowerCase();
        if (kind === "topic") {
          if (words.every((w) => name.includes(w) || topic.type.toLowerCase().includes(w))) list.push({ topic: topic.name, path: "" });
          continue;
        }
        // without a word for the topic there would be thousands
        if (words.length && !words.some((w) => name.includes(w.replace(/\..*/, "")))) continue;
        let paths: string[];
        try {
          paths = kind === "text" ? stringPaths(topic.schema) : numericPaths(topic.schema, topic.at(shown())?.value);
        } catch {
          continue;
        }
        for (const path of words.length ? paths : paths.slice(0, 3)) {
          const whole = `${name}.${path.toLowerCase()}`;
          if (words.every((w) => whole.includes(w))) list.push({ topic: topic.name, path });
          if (list.length >= 400) break;
        }
        // lists are known only once a message came
        if (words.length && releases.length < 6 && list.some((p) => p.topic === topic.name)) releases.push(topic.hold());
      }
      list.sort((a, b) => a.topic.length + a.path.length - b.topic.length - b.path.length);
      setFound(list.slice(0, MOST));
    };
    search();
    const timer = setInterval(search, 700);
    return () => {
      clearInterval(timer);
      for (const release of releases) release();
    };
  }, [text, open, robot, robot?.topics.value.size]);
  useEffect(() => {
    const away = (e: PointerEvent) => !box.current?.contains(e.target as Node) && setOpen(false);
    addEventListener("pointerdown", away);
    return () => removeEventListener("pointerdown", away);
  }, []);
  const take = (pick: Pick) => {
    onPick(pick);
    set("");
    setOpen(false);
  };
  return (
    <div class="picker" ref={box}>
      <input
        value={text}
        placeholder={hint}
        aria-label={hint}
        onFocus={() => setOpen(true)}
        onInput={(e) => (set(e.currentTarget.value), setOpen(true))}
        onKeyDown={(e) => {
          if (e.key === "Enter" && found.length) take(found[0]);
          if (e.key === "Escape") setOpen(false);
        }}
      />
      {open && (
        <div class="found">
          {found.map((p) => (
            <button onClick={() => take(p)} data-pick={kind === "topic" ? p.topic : `${p.topic}.${p.path}`}>
              <span class="faint">{p.topic.slice(1)}</span> {p.path}
            </button>
          ))}
          {!found.length && <p class="faint">{robot ? "nothing fits" : "no robot yet"}</p>}
        </div>
      )}
    </div>
  );
}

// Saves text as a file of the visitor.
export function download(name: string, text: string, type = "text/csv") {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob([text], { type }));
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10000);
}
