// Pages on which a person looks at pictures and answers: /label (nutmeg label) and /calibrate (nutmeg calibrate camera --page).
import { useSignal } from "@preact/signals";
import { useEffect, useRef, useState } from "preact/hooks";
import { robots } from "../data/clock";
import { say, toasts } from "../ui/shell";

const [LIST, LOOK, KEEP, ACCEPT, REJECT] = [0, 1, 2, 3, 4];
interface Answer {
  success: boolean;
  message: string;
  text: string;
  classes: string;
  jpeg: string;
}
interface Box {
  kind: string;
  x: number;
  y: number;
  w: number;
  h: number;
}
const TINTS = ["#ffa62b", "#ffe9a8", "#4fd8ff", "#ff4fd8", "#7df9ff", "#a8ff3e", "#ff5a4f", "#b69cff"];

// The server that the page came from, as soon as it offers its pictures.
const server = () => robots.value.find((r) => r.services.value.has("/pictures"));
async function ask(command: number, name = "", text = ""): Promise<Answer> {
  const answer: Answer = await server()!.call("/pictures", { command, name, text });
  if (!answer.success) throw new Error(answer.message);
  return answer;
}
const bitmapOf = (jpeg: string) => createImageBitmap(new Blob([Uint8Array.from(atob(jpeg), (c) => c.charCodeAt(0))], { type: "image/jpeg" }));
const boxesOf = (text: string): Box[] =>
  text
    .split("\n")
    .filter(Boolean)
    .map((line) => {
      const [kind, x, y, w, h] = line.split(",");
      return { kind, x: +x, y: +y, w: +w, h: +h };
    });
const textOf = (boxes: Box[]) => boxes.map((b) => [b.kind, ...[b.x, b.y, b.w, b.h].map((v) => v.toFixed(1))].join(",")).join("\n");
const tell = (error: unknown) => say(error instanceof Error ? error.message : String(error), true);

function Waiting() {
  return <main class="pictures empty">waiting for pictures</main>;
}
function Toasts() {
  return <div class="toasts">{toasts.value.map((t) => <div class={`toast ${t.error ? "error" : ""}`} key={t.id}>{t.text}</div>)}</div>;
}

// ---- labels ----

export function Label() {
  // signals, so that a key that follows at once finds what the mouse has drawn
  const list = useSignal<{ name: string; labels: number }[]>([]);
  const classes = useSignal<string[]>([]);
  const at = useSignal(-1);
  const kind = useSignal("ball");
  const boxes = useSignal<Box[]>([]);
  const chosen = useSignal(-1);
  const picture = useRef<ImageBitmap | undefined>(undefined);
  const kept = useRef("");
  const canvas = useRef<HTMLCanvasElement>(null);
  const drag = useRef<{ x: number; y: number } | undefined>(undefined);
  const there = !!server();

  const open = async (i: number) => {
    try {
      if (at.value >= 0) await keep();
      const answer = await ask(LOOK, list.value[i].name);
      picture.current = await bitmapOf(answer.jpeg);
      kept.current = answer.text.trimEnd();
      boxes.value = boxesOf(answer.text);
      chosen.value = -1;
      at.value = i;
    } catch (error) {
      tell(error);
    }
  };
  const keep = async () => {
    const text = textOf(boxes.value);
    if (at.value < 0 || (text === kept.current && list.value[at.value].labels >= 0)) return;
    await ask(KEEP, list.value[at.value].name, text);
    kept.current = text;
    list.value = list.value.map((row, i) => (i === at.value ? { ...row, labels: boxes.value.length } : row));
  };
  const remove = () => {
    boxes.value = boxes.value.filter((_, i) => i !== chosen.value);
    chosen.value = -1;
  };
  useEffect(() => {
    if (!there) return;
    ask(LIST)
      .then((answer) => {
        classes.value = answer.classes.split(",");
        list.value = answer.text.split("\n").filter(Boolean).map((line) => ({ name: line.slice(0, line.lastIndexOf(",")), labels: +line.slice(line.lastIndexOf(",") + 1) }));
      })
      .catch(tell);
  }, [there]);
  useEffect(() => {
    if (list.value.length && at.value < 0) open(Math.max(0, list.value.findIndex((row) => row.labels < 0)));
  }, [list.value]);
  useEffect(() => {
    const c = canvas.current;
    const image = picture.current;
    if (!c || !image) return;
    c.width = image.width;
    c.height = image.height;
    const pen = c.getContext("2d")!;
    pen.drawImage(image, 0, 0);
    boxes.value.forEach((b, i) => {
      pen.strokeStyle = TINTS[classes.value.indexOf(b.kind) % TINTS.length] ?? "#fff";
      pen.lineWidth = i === chosen.value ? 4 : 2;
      pen.strokeRect(b.x, b.y, b.w, b.h);
      pen.fillStyle = pen.strokeStyle;
      pen.fillText(b.kind, b.x + 2, b.y > 12 ? b.y - 3 : b.y + 12);
    });
  });
  useEffect(() => {
    const keys = (e: KeyboardEvent) => {
      const number = Number(e.key);
      if (number >= 1 && number <= classes.value.length) kind.value = classes.value[number - 1];
      else if (e.key === "Delete" || e.key === "Backspace") remove();
      else if ((e.key === "ArrowRight" || e.key === "n") && at.value + 1 < list.value.length) open(at.value + 1);
      else if ((e.key === "ArrowLeft" || e.key === "p") && at.value > 0) open(at.value - 1);
      else if (e.key === "s") keep().then(() => say("kept"), tell);
      else return;
      e.preventDefault();
    };
    addEventListener("keydown", keys);
    return () => removeEventListener("keydown", keys);
  }, []);
  const place = (e: MouseEvent) => {
    const r = canvas.current!.getBoundingClientRect();
    return { x: ((e.clientX - r.left) / r.width) * canvas.current!.width, y: ((e.clientY - r.top) / r.height) * canvas.current!.height };
  };
  const down = (e: MouseEvent) => (drag.current = place(e));
  const up = (e: MouseEvent) => {
    const from = drag.current;
    drag.current = undefined;
    if (!from) return;
    const to = place(e);
    const b = { kind: kind.value, x: Math.min(from.x, to.x), y: Math.min(from.y, to.y), w: Math.abs(to.x - from.x), h: Math.abs(to.y - from.y) };
    if (b.w > 3 && b.h > 3) {
      chosen.value = boxes.value.length;
      boxes.value = [...boxes.value, b];
      return;
    }
    // a click: the smallest box around it
    let best = -1;
    boxes.value.forEach((o, i) => {
      const inside = to.x >= o.x && to.y >= o.y && to.x <= o.x + o.w && to.y <= o.y + o.h;
      if (inside && (best < 0 || o.w * o.h < boxes.value[best].w * boxes.value[best].h)) best = i;
    });
    chosen.value = best;
  };
  if (!there) return <Waiting />;
  const done = list.value.filter((row) => row.labels >= 0).length;
  return (
    <main class="pictures">
      <nav>
        <b>{done} of {list.value.length} labelled</b>
        {list.value.map((row, i) => (
          <button class={i === at.value ? "on" : ""} data-test={`picture ${row.name}`} onClick={() => open(i)} key={row.name}>
            {row.name} <span class="faint">{row.labels < 0 ? "" : row.labels}</span>
          </button>
        ))}
      </nav>
      <section>
        <div class="chips">
          {classes.value.map((c, i) => (
            <button class={`chip ${c === kind.value ? "on" : ""}`} style={{ borderColor: TINTS[i] }} onClick={() => (kind.value = c)} key={c}>
              {i + 1} {c}
            </button>
          ))}
          <button class="chip" disabled={chosen.value < 0} onClick={remove}>delete</button>
          <button class="chip" data-test="keep" onClick={() => keep().then(() => say("kept"), tell)}>keep</button>
          <span class="faint">drag: a new label; click: choose one; delete, arrows, 1 to {classes.value.length}, s to keep</span>
        </div>
        <canvas ref={canvas} data-test="picture" onMouseDown={down} onMouseUp={up} />
      </section>
      <Toasts />
    </main>
  );
}

// ---- a calibration ----

export function Calibrate() {
  const [text, setText] = useState("");
  const [over, setOver] = useState("");
  const canvas = useRef<HTMLCanvasElement>(null);
  const there = !!server();
  useEffect(() => {
    if (!there || over) return;
    ask(LOOK)
      .then(async (answer) => {
        const image = await bitmapOf(answer.jpeg);
        canvas.current!.width = image.width;
        canvas.current!.height = image.height;
        canvas.current!.getContext("2d")!.drawImage(image, 0, 0);
        setText(answer.text);
      })
      .catch(tell);
  }, [there]);
  const decide = (command: number) => ask(command).then((answer) => setOver(answer.message), tell);
  if (!there && !over) return <Waiting />;
  return (
    <main class="pictures">
      <section>
        <pre>{text}</pre>
        <div class="chips">
          <span class="faint">Lines of the field before (red) and after (yellow); the penalty box (blue) must lie upon the painted one.</span>
          <button class="chip" data-test="accept" disabled={!!over} onClick={() => decide(ACCEPT)}>accept</button>
          <button class="chip" data-test="reject" disabled={!!over} onClick={() => decide(REJECT)}>reject</button>
          <b data-test="decision">{over}</b>
        </div>
        <canvas ref={canvas} data-test="picture" />
      </section>
      <Toasts />
    </main>
  );
}
