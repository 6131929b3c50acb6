// Parameters: search, ranges and prose, the layer that a value comes from, undo, saving into a layer, and sliders of a
// MIDI controller. Names and values are those of the Foxglove protocol; what else is known comes from /nutmeg/ask.
import { useEffect, useState } from "preact/hooks";
import type { Robot } from "../data/robot";
import { type PanelContext, panel } from "../ui/panel";
import { say } from "../ui/shell";

interface Facts {
  instance: string;
  param: string;
  kind: string;
  default: string;
  changed: boolean;
  layer: string;
  min: number | null;
  max: number | null;
  choices: string | null;
  unit: string;
  about: string;
}
const LAYERS = ["robot", "default", "head", "body", "place", "event", "lineup"];
const undos = new WeakMap<Robot, { name: string; value: unknown }[]>();

async function control(robot: Robot, service: string, request: object): Promise<any> {
  const reply = await robot.call(service, { request: JSON.stringify(request) });
  if (!reply.success) throw new Error(reply.message);
  return JSON.parse(reply.answer);
}
export async function setParameter(robot: Robot, name: string, value: unknown, undo = true) {
  const old = robot.parameters.peek().get(name)?.value;
  try {
    await robot.setParameters([{ name, value }]);
    if (!undos.has(robot)) undos.set(robot, []);
    const list = undos.get(robot)!;
    if (undo && list[list.length - 1]?.name !== name) list.push({ name, value: old });
  } catch (error) {
    say((error as Error).message, true);
  }
}

// ---- MIDI: a slider is learned for a parameter, and moves it over its range ----

const KEY = "nutmeg.midi";
let learning: { name: string; told: () => void } | undefined;
const sliders: Record<string, string> = JSON.parse(localStorage.getItem(KEY) ?? "{}"); // "channel/controller": parameter
let midi: Promise<unknown> | undefined;
let moved: ((name: string, share: number) => void) | undefined;
export function midiMessage(data: ArrayLike<number>) {
  if ((data[0] & 0xf0) !== 0xb0) return; // only controllers
  const slider = `${data[0] & 15}/${data[1]}`;
  if (learning) {
    for (const other of Object.keys(sliders)) if (sliders[other] === learning.name) delete sliders[other];
    sliders[slider] = learning.name;
    localStorage.setItem(KEY, JSON.stringify(sliders));
    learning.told();
    learning = undefined;
  }
  if (sliders[slider]) moved?.(sliders[slider], data[2] / 127);
}
function openMidi(): Promise<unknown> {
  const ask = (navigator as any).requestMIDIAccess;
  if (!ask) return Promise.reject(new Error("This browser gives MIDI only to pages of this machine or over https: use ssh -L 8765:127.0.0.1:8765."));
  return (midi ??= ask.call(navigator).then((access: any) => {
    const listen = () => access.inputs.forEach((input: any) => (input.onmidimessage = (e: any) => midiMessage(e.data)));
    access.onstatechange = listen;
    listen();
  }));
}

// ---- the panel ----

// A field for typing. What is typed stays until it is given with Enter or left, whatever the robot says meanwhile.
function Field({ class: name, value, locked, title, give }: { class: string; value: string; locked: boolean; title?: string; give: (text: string) => void }) {
  const [typed, type] = useState<string>();
  const end = (text: string) => {
    if (text !== value) give(text);
    type(undefined);
  };
  return (
    <input
      class={name}
      value={typed ?? value}
      disabled={locked}
      title={title}
      onInput={(e) => type(e.currentTarget.value)}
      onKeyDown={(e) => e.key === "Enter" && end(e.currentTarget.value)}
      onBlur={(e) => typed !== undefined && end(e.currentTarget.value)}
    />
  );
}

function Editor({ robot, name, value, facts }: { robot: Robot; name: string; value: unknown; facts?: Facts }) {
  const locked = !robot.mayWrite.value;
  const set = (v: unknown) => setParameter(robot, name, v);
  if (typeof value === "boolean") return <input type="checkbox" checked={value} disabled={locked} onChange={(e) => set(e.currentTarget.checked)} />;
  if (facts?.choices)
    return (
      <select value={String(value)} disabled={locked} onChange={(e) => set(e.currentTarget.value)}>
        {facts.choices.split(" ").map((c) => (
          <option>{c}</option>
        ))}
      </select>
    );
  if (typeof value === "number") {
    const ranged = facts && facts.min !== null && facts.max !== null && facts.max - facts.min < 1e6;
    const whole = facts?.kind === "whole number";
    return (
      <>
        {ranged && (
          <input
            type="range"
            min={facts.min!}
            max={facts.max!}
            step={whole ? 1 : (facts.max! - facts.min!) / 200}
            value={value}
            disabled={locked}
            onInput={(e) => set(Number(e.currentTarget.value))}
          />
        )}
        <Field
          class="numbers value"
          value={String(Math.round(value * 1e6) / 1e6)}
          locked={locked}
          title={facts && facts.min !== null ? `${facts.min} to ${facts.max}` : ""}
          give={(text) => set(Number(text))}
        />
      </>
    );
  }
  const text = Array.isArray(value) ? value.join(" ") : String(value);
  return <Field class="value wide" value={text} locked={locked} give={(typed) => set(Array.isArray(value) ? typed.split(/[ ,]+/).map(Number) : typed)} />;
}

function Parameters({ ctx }: { ctx: PanelContext }) {
  return ctx.robot ? <List key={ctx.robot.key} robot={ctx.robot} ctx={ctx} /> : <div class="empty">no robot yet</div>;
}
function List({ robot, ctx }: { robot: Robot; ctx: PanelContext }) {
  const { find = "", changed = false, open = [] } = ctx.settings.value as { find: string; changed: boolean; open: string[] };
  const [facts, setFacts] = useState(new Map<string, Facts>());
  const [layer, setLayer] = useState("robot");
  const [learns, setLearns] = useState("");
  const values = robot.parameters.value;
  const look = () =>
    control(robot, "/nutmeg/ask", { op: "params" })
      .then((answer) => setFacts(new Map(answer.params.map((p: Facts) => [`${p.instance}.${p.param}`, p]))))
      .catch(() => undefined); // without it, names and values are still there
  const asks = robot.services.value.has("/nutmeg/ask");
  useEffect(() => {
    if (!asks) return;
    const timer = setTimeout(look, 300);
    return () => clearTimeout(timer);
  }, [asks, values]);
  useEffect(() => {
    const mine = (name: string, share: number) => {
      const f = facts.get(name);
      if (f && f.min !== null && f.max !== null) setParameter(robot, name, f.min + share * (f.max - f.min));
    };
    moved = mine;
    return () => {
      if (moved === mine) moved = undefined;
    };
  }, [facts]);
  const act = (what: Promise<unknown>, done: string) => what.then(() => (say(done), look())).catch((error) => say(error.message, true));
  const undo = () => {
    const last = undos.get(robot)?.pop();
    if (last) setParameter(robot, last.name, last.value, false);
  };
  const groups = new Map<string, string[]>();
  const wanted = find.toLowerCase();
  for (const name of values.keys()) {
    const f = facts.get(name);
    if (changed && !f?.changed) continue;
    if (wanted && !`${name} ${f?.about ?? ""}`.toLowerCase().includes(wanted)) continue;
    const instance = name.slice(0, name.lastIndexOf("."));
    groups.set(instance, [...(groups.get(instance) ?? []), name]);
  }
  const toggle = (instance: string) => ctx.set({ open: open.includes(instance) ? open.filter((o) => o !== instance) : [...open, instance] });
  return (
    <div class="column">
      <div class="bar">
        <input value={find} placeholder="find by name or prose" onInput={(e) => ctx.set({ find: e.currentTarget.value })} style={{ flex: 1, minWidth: "60px" }} aria-label="find" />
        <button class={`chip ${changed ? "on" : ""}`} onClick={() => ctx.set({ changed: !changed })}>
          changed
        </button>
        <button class="filled" onClick={undo} disabled={!undos.get(robot)?.length} title="takes the last change back">
          undo
        </button>
        <select value={layer} onChange={(e) => setLayer(e.currentTarget.value)} aria-label="layer">
          {LAYERS.map((l) => (
            <option>{l}</option>
          ))}
        </select>
        <button class="filled" disabled={!robot.mayWrite.value} onClick={() => act(control(robot, "/nutmeg/change", { op: "save", layer }), `saved into the layer ${layer}`)}>
          save
        </button>
      </div>
      <div class="scrolls fill" data-test="parameters">
        {[...groups].map(([instance, names]) => (
          <div>
            <button class="plain" onClick={() => toggle(instance)} data-instance={instance}>
              {wanted || changed || open.includes(instance) ? "▾" : "▸"} <b>{instance}</b> <span class="faint">{names.length}</span>
            </button>
            {(wanted || changed || open.includes(instance)) &&
              names.map((name) => {
                const f = facts.get(name);
                return (
                  <div class="param" data-param={name}>
                    <span class={f?.changed ? "" : "soft"} title={f ? `default ${f.default}` : ""}>
                      {name.slice(instance.length + 1)}
                    </span>
                    <span class="editor">
                      <Editor robot={robot} name={name} value={values.get(name)!.value} facts={f} />
                      <span class="faint">{f?.unit === "1" ? "" : f?.unit}</span>
                    </span>
                    <span class="faint">{f?.layer}</span>
                    <span>
                      {f && (f.layer === "live" || f.layer === "saved") && (
                        <button class="plain" title="back to the files" onClick={() => act(control(robot, "/nutmeg/change", { op: "reset", instance: f.instance, param: f.param }), `${name} is back`)}>
                          ↺
                        </button>
                      )}
                      {typeof values.get(name)!.value === "number" && f?.min !== null && (
                        <button
                          class={`plain ${learns === name ? "warn" : Object.values(sliders).includes(name) ? "good" : "faint"}`}
                          title="learn a slider of a MIDI controller: press, then move the slider"
                          onClick={() =>
                            openMidi()
                              .then(() => {
                                learning = { name, told: () => setLearns("") };
                                setLearns(name);
                              })
                              .catch((error) => say(error.message, true))
                          }
                        >
                          ♪
                        </button>
                      )}
                    </span>
                    {f?.about && <small class="faint">{f.about}</small>}
                  </div>
                );
              })}
          </div>
        ))}
        {!groups.size && <div class="empty">{values.size ? "nothing matches" : `${robot.name} has no parameters`}</div>}
      </div>
    </div>
  );
}
panel({ id: "parameters", title: "Parameters", about: "change values while the robot runs, undo, save, MIDI sliders", group: "data", view: Parameters });
