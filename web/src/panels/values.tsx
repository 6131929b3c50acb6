// Messages as they are: one topic as a tree of values, chosen values of all robots as a table, texts as they change.
import { useEffect, useState } from "preact/hooks";
import { cursor, onFrame, players, shown } from "../data/clock";
import { News, type Robot, type Topic } from "../data/robot";
import { constantName, isNumeric, type Schema, type Shape, valueAt } from "../data/schema";
import { useNow, useTopic } from "../ui/hooks";
import { acceptPicks, download, dragPick, Picker, type Pick, pickText } from "../ui/picker";
import { type PanelContext, panel } from "../ui/panel";
import { timeText } from "../ui/timeline";
import { openPanel } from "../ui/dock";

export function valueText(v: unknown): string {
  if (v === Infinity || v === -Infinity) return v > 0 ? "∞" : "−∞";
  if (typeof v === "number") return Number.isInteger(v) ? String(v) : Math.abs(v) >= 1e5 || (Math.abs(v) < 1e-4 && v !== 0) ? v.toExponential(3) : Number(v.toFixed(4)).toString();
  if (typeof v === "boolean") return v ? "yes" : "no";
  if (v instanceof Uint8Array) return v.length > 32 ? `${v.length} bytes` : [...v].join(" ");
  if (v && typeof v === "object" && "sec" in v) return timeText((v as any).sec + (v as any).nanosec * 1e-9);
  if (v === undefined) return "–";
  return String(v);
}

// ---- one topic ----

function Node({ name, value, type, shape, schema, path, pick, depth }: { name: string; value: any; type: string; shape?: Shape; schema: Schema; path: string; pick: (path: string) => Pick; depth: number }) {
  const [open, set] = useState(depth < 3 && !(Array.isArray(value) && value.length > 6));
  const leaf = typeof value !== "object" || value === null || value instanceof Uint8Array || "sec" in value;
  if (leaf) {
    const word = shape && typeof value === "number" && isNumeric(type) ? constantName(shape, name.replace(/\[.*/, ""), value) : undefined;
    const numeric = typeof value === "number" || typeof value === "boolean";
    return (
      <div class="leaf" draggable={numeric} onDragStart={(e) => dragPick(e, pick(path))} style={{ paddingLeft: `${12 * depth + 14}px` }} title={numeric ? "drag it onto a graph" : undefined}>
        <span class="key">{name}</span>
        <span class="value numbers" data-path={path}>
          {valueText(value)}
        </span>
        {word && <span class="soft"> {word}</span>}
        {numeric && (
          <button class="plain more" title="show in a new graph" onClick={() => openPanel("graph", { series: [pick(path)] })}>
            ∿
          </button>
        )}
      </div>
    );
  }
  const isList = Array.isArray(value);
  const inner = schema.shapes.get(type);
  return (
    <>
      <div class="leaf branch" style={{ paddingLeft: `${12 * depth}px` }} onClick={() => set(!open)}>
        <span class="turn">{open ? "▾" : "▸"}</span> <span class="key">{name}</span>
        {isList && <span class="faint">{value.length}</span>}
      </div>
      {open &&
        (isList
          ? value.slice(0, 64).map((v: any, i: number) => <Node name={`${name}[${i}]`} value={v} type={type} shape={shape} schema={schema} path={`${path}[${i}]`} pick={pick} depth={depth + 1} />)
          : inner?.fields.map((f) => <Node name={f.name} value={value[f.name]} type={f.type} shape={inner} schema={schema} path={`${path}.${f.name}`} pick={pick} depth={depth + 1} />))}
    </>
  );
}
function Raw({ ctx }: { ctx: PanelContext }) {
  const robot = ctx.robot;
  const name: string = ctx.settings.value.topic ?? "";
  const topic = robot?.topics.value.get(name);
  return (
    <div class="column">
      <div class="bar">
        <b>{name ? name.slice(1) : ""}</b>
        {topic && <span class="faint">{topic.type.replace("/msg/", "/")}</span>}
        <span style={{ flex: 1 }} />
        <Picker robot={robot} kind="topic" hint="choose a topic" onPick={(p) => ctx.set({ topic: p.topic })} />
      </div>
      {topic ? <Message key={`${robot!.key}${name}`} topic={topic} /> : <div class="fill empty-note">{name ? `${robot?.name ?? "the robot"} has no topic ${name}` : "choose a topic above"}</div>}
    </div>
  );
}
function Message({ topic }: { topic: Topic }) {
  const entry = useTopic(topic, 150);
  const now = useNow(500);
  if (!entry) return <div class="fill empty-note">nothing was published yet</div>;
  const age = now - entry.time;
  return (
    <div class={`scrolls fill tree2 ${age > 2 ? "stale" : ""}`} data-test="raw">
      <div class="faint" style={{ paddingLeft: "14px" }}>
        {timeText(entry.time)}
        {age > 2 && `, ${age.toFixed(0)} s old`}
      </div>
      {topic.schema.root.fields.map((f) => (
        <Node name={f.name} value={entry.value[f.name]} type={f.type} shape={topic.schema.root} schema={topic.schema} path={f.name} pick={(path) => ({ robot: undefined, topic: topic.name, path })} depth={0} />
      ))}
    </div>
  );
}
panel({ id: "raw", title: "Message", about: "one topic, value by value", group: "data", view: Raw });

// ---- a table: values in rows, robots in columns ----

function Cell({ robot, pick }: { robot: Robot; pick: Pick }) {
  const entry = useTopic(robot.topics.value.get(pick.topic), 200);
  const now = useNow(1000);
  const value = entry && valueAt(entry.value, pick.path);
  const stale = entry && now - entry.time > 2;
  const field = /^\w+$/.test(pick.path) ? pick.path : "";
  const word = field && typeof value === "number" ? constantName(robot.topic(pick.topic)!.schema.root, field, value)?.toLowerCase().replaceAll("_", " ") : undefined;
  return (
    <td class={`number ${stale ? "stale" : ""}`} title={stale ? `${(now - entry.time).toFixed(0)} s old` : undefined} data-cell={`${robot.key} ${pickText(pick)}`}>
      {word ?? valueText(value)}
    </td>
  );
}
function Table({ ctx }: { ctx: PanelContext }) {
  const picks: Pick[] = ctx.settings.value.rows ?? [];
  const list = players.value;
  useEffect(() => acceptPicks(ctx.root, (p) => ctx.set({ rows: [...(ctx.settings.peek().rows ?? []), { topic: p.topic, path: p.path }] })), []);
  const csv = () => {
    const now = shown();
    const lines = [["value", ...list.map((r) => r.name)].join(",")];
    for (const p of picks) lines.push([pickText(p), ...list.map((r) => JSON.stringify(valueAt(r.topic(p.topic)?.at(now)?.value, p.path) ?? ""))].join(","));
    download("table.csv", lines.join("\n") + "\n");
  };
  return (
    <div class="column">
      <div class="bar">
        <Picker robot={ctx.robot} onPick={(p) => ctx.set({ rows: [...picks, p] })} hint="add a row" />
        <Picker robot={ctx.robot} kind="text" onPick={(p) => ctx.set({ rows: [...picks, p] })} hint="add a text" />
        <span style={{ flex: 1 }} />
        <button class="plain" onClick={csv} disabled={!picks.length}>
          CSV
        </button>
      </div>
      <div class="scrolls fill">
        <table>
          <thead>
            <tr>
              <th />
              {list.map((r) => (
                <th class={`number ${r.team === 0 ? "red" : r.team === 1 ? "blue" : ""}`}>{r.name}</th>
              ))}
            </tr>
          </thead>
          <tbody>
            {picks.map((p, i) => (
              <tr>
                <td class="soft" title="click to remove" onClick={() => ctx.set({ rows: picks.filter((_, k) => k !== i) })}>
                  {pickText(p)}
                </td>
                {list.map((r) => (
                  <Cell key={r.key} robot={r} pick={p} />
                ))}
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </div>
  );
}
panel({ id: "table", title: "Table", about: "chosen values of all robots", group: "data", view: Table });

// ---- texts as they change ----

function Texts({ ctx }: { ctx: PanelContext }) {
  const pick: Pick | undefined = ctx.settings.value.text;
  const robot = ctx.robot;
  const [lines, set] = useState<[number, string][]>([]);
  useEffect(() => {
    set([]);
    if (!pick || !robot) return;
    let all: [number, string][] = [];
    let until = NaN; // shown
    const news = new News();
    return onFrame((now) => {
      const topic = ctx.topic(robot, pick.topic);
      if (!topic || !ctx.visible.peek()) return;
      const more = news.read(topic, () => (all = []), (time, value) => {
        const text = valueText(valueAt(value, pick.path));
        if (text !== all[all.length - 1]?.[1]) all.push([time, text]);
      });
      const end = cursor.peek() === undefined ? Infinity : now;
      if (!more && end === until) return;
      until = end;
      all = all.slice(-5000);
      set(all.filter(([time]) => time <= end).slice(-300));
    });
  }, [pick?.topic, pick?.path, robot]);
  return (
    <div class="column">
      <div class="bar">
        {pick && <b>{pickText(pick)}</b>}
        <span style={{ flex: 1 }} />
        <Picker robot={robot} kind="text" hint="choose a text" onPick={(p) => ctx.set({ text: p })} />
      </div>
      <div class="scrolls fill" data-test="texts">
        {lines.map(([time, text]) => (
          <div class="logline two" onClick={() => (cursor.value = time)}>
            <time>{timeText(time)}</time>
            <span>{text}</span>
          </div>
        ))}
      </div>
    </div>
  );
}
panel({ id: "texts", title: "Texts", about: "a text of a topic, each time it changes", group: "data", view: Texts });
