// The strip at the top: the game, the robots, the followed robot, and what the page can do.
import { signal } from "@preact/signals";
import type { ComponentChildren } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { players, robots } from "../data/clock";
import type { Entry, Robot } from "../data/robot";
import { constantName } from "../data/schema";
import { connect, follow, followed, listLogs, lost, openLogNamed } from "../data/session";
import { numberOf } from "../panels/map";
import { fileViews, modified, openFileView, openPanel, openView, resetView, saveFileView, saveView, view } from "./dock";
import { useMessage, useNow } from "./hooks";
import * as Icon from "./icons";
import { kinds } from "./panel";
import { Simulation } from "./simulation";
import { openFiles, say, shareLink, toggleTheme } from "./shell";
import { all, forget, own, shipped } from "./views";

const two = (n: number) => String(Math.floor(n)).padStart(2, "0");
export const clockText = (s: number) => `${s < 0 ? "−" : ""}${Math.floor(Math.abs(s) / 60)}:${two(Math.abs(s) % 60)}`;

function Game({ robot }: { robot: Robot | undefined }) {
  const entry = useMessage(robot, "/match_state");
  const now = useNow();
  const m = entry?.value;
  if (!m)
    return (
      <div class="score">
        <span class="soft">{robot ? robot.name || "…" : "no robot"}</span>
      </div>
    );
  const shape = robot!.topic("/match_state")!.schema.root;
  const state = constantName(shape, "state", m.state) ?? "";
  const phase = m.phase ? (constantName(shape, "phase", m.phase) ?? "").toLowerCase().replaceAll("_", " ") : m.first_half ? "first half" : "second half";
  const turned = robot!.team === 1;
  const left = turned ? m.rival_score : m.own_score;
  const right = turned ? m.own_score : m.rival_score;
  const names = robot!.team === undefined ? [`team ${m.own_team}`, `team ${m.rival_team}`] : ["red", "blue"];
  const set = m.set_play ? (constantName(shape, "set_play", m.set_play) ?? "").toLowerCase().replaceAll("_", " ") : "";
  const stale = now - entry.time > 2;
  return (
    <>
      <div class={`score ${stale ? "stale" : ""}`} data-test="score">
        <span class={robot!.team === undefined ? "" : "red"}>{names[0]}</span>
        <span class="goals">
          {left}
          <i>:</i>
          {right}
        </span>
        <span class={robot!.team === undefined ? "" : "blue"}>{names[1]}</span>
      </div>
      <div class="clock">
        <b data-test="clock">{clockText(m.seconds_remaining)}</b>
        <small>{phase}</small>
      </div>
      <span class={`pill ${state.toLowerCase()}`} title={m.reason} data-test="state">
        {m.stopped ? "stopped" : state.toLowerCase()}
        {set ? ` · ${set}` : ""}
        {m.secondary_seconds > 0 ? ` ${m.secondary_seconds} s` : ""}
      </span>
      {!m.connected && <span class="pill lost">no game controller</span>}
    </>
  );
}

function Shirt({ robot }: { robot: Robot }) {
  const hcm = useMessage(robot, "/hcm_state", 300)?.value;
  const match = useMessage(robot, "/match_state", 300)?.value;
  const wide = !/\d[b-z]?$/.test(robot.name);
  const classes = [
    "shirt",
    wide && "wide",
    robot.team === 0 ? "red" : robot.team === 1 ? "blue" : "",
    robot === followed.value && "followed",
    robot.connection.value === "lost" && "lost",
    match?.penalized ? "penalised" : (hcm?.state === 1 || hcm?.state === 2) && "fallen",
  ];
  return (
    <button class={classes.filter(Boolean).join(" ")} title={`follow ${robot.name}`} onClick={() => follow(robot)} data-robot={robot.key}>
      {wide ? robot.name || robot.key : numberOf(robot.name)}
    </button>
  );
}
function Squad() {
  const list = players.value;
  return (
    <div class="squad" data-test="squad">
      {list.map((robot, i) => (
        <>
          {i > 0 && robot.team !== list[i - 1].team && <span class="gap" />}
          <Shirt key={robot.key} robot={robot} />
        </>
      ))}
    </div>
  );
}

function Fact({ name, title, minor, entry, children, limit = 3 }: { name: string; title?: string; minor?: boolean; entry?: Entry; children: ComponentChildren; limit?: number }) {
  const now = useNow(1000);
  const age = entry ? now - entry.time : 0;
  return (
    <div class={`fact ${minor ? "minor" : ""} ${age > limit ? "stale" : ""}`} title={age > limit ? `${age.toFixed(0)} s old` : title} data-fact={name}>
      <b>{children}</b>
      <small>{age > limit ? `${name}, ${age.toFixed(0)} s old` : name}</small>
    </div>
  );
}
export const ROLES = ["idle", "other", "striker", "supporter", "defender", "keeper", "bishop"];
function Facts({ robot }: { robot: Robot }) {
  const plan = useMessage(robot, "/strategy_plan", 300);
  const battery = useMessage(robot, "/battery_state", 500) ?? undefined;
  const raw = useMessage(robot, "/battery", 500);
  const servos = useMessage(robot, "/servo_states", 500);
  const power = battery ?? raw;
  const charge = power?.value.percentage;
  const s = servos?.value;
  let hottest = -1;
  if (s?.temperature) for (let i = 0; i < s.temperature.length; i++) if (hottest < 0 || s.temperature[i] > s.temperature[hottest]) hottest = i;
  return (
    <div class="facts">
      {plan && (
        <Fact name="role" entry={plan} title={plan.value.situation}>
          {ROLES[plan.value.own_role] ?? "?"}
        </Fact>
      )}
      {power && (
        <Fact name="battery" entry={power} limit={10}>
          <span class={charge < 0.2 ? "bad" : ""}>
            {charge >= 0 ? `${Math.round(charge * 100)} %` : ""} {power.value.voltage > 0 ? `${power.value.voltage.toFixed(1)} V` : ""}
          </span>
        </Fact>
      )}
      {hottest >= 0 && (
        <Fact name={String(s!.name?.[hottest] ?? "hottest")} entry={servos} minor>
          <span class={s!.temperature[hottest] > 60 ? "bad" : ""}>{Math.round(s!.temperature[hottest])} °C</span>
        </Fact>
      )}
      {(robot.drops > 0 || robot.dropping.value) && (
        <Fact name="drops" title="times that this page did not keep up, so that the robot dropped messages">
          <span class={robot.dropping.value ? "bad" : "warn"}>{robot.drops}</span>
        </Fact>
      )}
    </div>
  );
}

// ---- menus ----

const open = signal("");
function Menu({ id, label, title, children }: { id: string; label: ComponentChildren; title: string; children: () => ComponentChildren }) {
  const box = useRef<HTMLDivElement>(null);
  useEffect(() => {
    const away = (e: PointerEvent) => {
      if (open.peek() === id && !box.current?.contains(e.target as Node)) open.value = "";
    };
    addEventListener("pointerdown", away);
    return () => removeEventListener("pointerdown", away);
  }, []);
  return (
    <div class="menu" ref={box}>
      <button class="plain" title={title} onClick={() => (open.value = open.value === id ? "" : id)} data-menu={id}>
        {label}
      </button>
      {open.value === id && <div class="sheet">{children()}</div>}
    </div>
  );
}
const close = () => (open.value = "");

function ViewMenu() {
  const robot = followed.value;
  const [files, setFiles] = useState<string[]>([]);
  const isOpen = open.value === "views";
  useEffect(() => {
    if (isOpen && robot?.services.value.has("/nutmeg/view")) fileViews(robot).then(setFiles, (error) => say(error.message, true));
  }, [isOpen, robot]);
  const act = (what: Promise<unknown>) => {
    what.catch((error) => say(error.message, true));
    close();
  };
  return (
    <Menu id="views" title="views: arrangements of panels" label={<span>{view.value}{modified.value ? " *" : ""}</span>}>
      {() => (
        <>
          {all().map((v, i) => (
            <button class={`item ${v.name === view.value ? "now" : ""}`} onClick={() => (openView(v.name), close())} data-view={v.name}>
              {v.name}
              {own.value.some((o) => o.name === v.name) && <span class="about">{shipped.some((s) => s.name === v.name) ? "changed by you" : "your own"}</span>}
              {i < 9 && <kbd>{i + 1}</kbd>}
            </button>
          ))}
          {files.length > 0 && <h4>beside the line-up</h4>}
          {files.map((name) => (
            <button class="item" onClick={() => act(openFileView(robot!, name))} data-view-file={name}>
              {name}
            </button>
          ))}
          <h4>this arrangement</h4>
          <form
            class="bar"
            onSubmit={(e) => {
              e.preventDefault();
              const name = String(new FormData(e.currentTarget as HTMLFormElement).get("name")).trim();
              if (name) saveView(name);
              close();
            }}
          >
            <input name="name" defaultValue={view.value} aria-label="name of the view" size={14} />
            <button class="filled" title="in this browser">
              save
            </button>
            <button
              class="filled"
              type="button"
              title="as a file beside the line-up"
              disabled={!robot?.mayWrite.value || !robot.services.value.has("/nutmeg/view")}
              onClick={(e) => act(saveFileView(robot!, (e.currentTarget.form!.elements.namedItem("name") as HTMLInputElement).value.trim()))}
              data-test="save-file"
            >
              to robot
            </button>
          </form>
          <button class="item" onClick={() => (resetView(), close())} disabled={!modified.value}>
            back to what was saved
          </button>
          {own.value.some((o) => o.name === view.value) && (
            <button
              class="item"
              onClick={() => {
                forget(view.value);
                resetView();
                close();
              }}
            >
              delete “{view.value}”
            </button>
          )}
          <button class="item" onClick={() => (shareLink(), close())}>
            copy a link to what is seen
          </button>
        </>
      )}
    </Menu>
  );
}
function PanelMenu() {
  const groups: [string, string][] = [
    ["match", "the match"],
    ["robot", "one robot"],
    ["data", "any data"],
    ["system", "the program"],
  ];
  return (
    <Menu id="panels" title="add a panel" label={<Icon.Plus />}>
      {() =>
        groups.map(([id, title]) => {
          const list = [...kinds.values()].filter((k) => k.group === id);
          return (
            list.length > 0 && (
              <>
                <h4>{title}</h4>
                {list.map((k) => (
                  <button class="item" onClick={() => (openPanel(k.id), close())} data-add={k.id}>
                    {k.title}
                    <span class="about">{k.about}</span>
                  </button>
                ))}
              </>
            )
          );
        })
      }
    </Menu>
  );
}
function RobotMenu() {
  return (
    <Menu id="robots" title="robots and connections" label={<Icon.Link />}>
      {() => (
        <>
          <h4>robots</h4>
          {robots.value.map((r) => (
            <button class={`item ${r === followed.value ? "now" : ""}`} onClick={() => (follow(r), close())}>
              {r.name || r.key}
              <span class={`about ${r.connection.value === "lost" ? "bad" : ""}`}>{r.connection.value}</span>
            </button>
          ))}
          <h4>connect to another one</h4>
          <form
            class="bar"
            onSubmit={(e) => {
              e.preventDefault();
              const data = new FormData(e.currentTarget as HTMLFormElement);
              const at = String(data.get("at")).trim();
              if (at) connect(at.includes(":") ? at : `${at}:8765`, String(data.get("token")).trim());
              close();
            }}
          >
            <input name="at" placeholder="10.0.0.7:8765" aria-label="address" size={14} />
            <input name="token" placeholder="token" aria-label="token" size={8} />
            <button class="filled">connect</button>
          </form>
        </>
      )}
    </Menu>
  );
}

function LogMenu() {
  const [list, set] = useState<{ name: string; bytes: number; time: number }[] | string | undefined>(undefined);
  useEffect(() => {
    if (open.value === "logs")
      listLogs()
        .then((l) => set(l.sort((a, b) => b.time - a.time)))
        .catch((error) => set(error.message));
  }, [open.value]);
  const show = (names: string[]) => {
    close();
    openLogNamed(names).catch((error) => say(error.message, true));
  };
  const folders = Array.isArray(list) ? [...new Set(list.map((l) => l.name.replace(/[^/]*$/, "")))] : [];
  return (
    <Menu id="logs" title="logs" label={<Icon.Folder />}>
      {() => (
        <>
          <h4>logs of this machine</h4>
          {typeof list === "string" && <p class="faint note">{list}</p>}
          {Array.isArray(list) && !list.length && <p class="faint note">none; nutmeg play --log out/logs makes some</p>}
          {folders.map((folder) => {
            const inside = (list as { name: string; bytes: number; time: number }[]).filter((l) => l.name.replace(/[^/]*$/, "") === folder);
            return (
              <>
                {inside.length > 1 && (
                  <button class="item" onClick={() => show(inside.map((l) => l.name).sort())}>
                    all {inside.length} of {folder || "the folder"}
                  </button>
                )}
                {inside.map((l) => (
                  <button class="item" onClick={() => show([l.name])} data-log={l.name}>
                    {l.name}
                    <span class="about">
                      {l.bytes > 1e6 ? `${(l.bytes / 1e6).toFixed(1)} MB` : `${Math.ceil(l.bytes / 1000)} kB`}, {new Date(l.time * 1000).toLocaleString()}
                    </span>
                  </button>
                ))}
              </>
            );
          })}
          <h4>files of yours</h4>
          <label class="item">
            <input type="file" accept=".mcap" multiple onChange={(e) => (openFiles([...(e.currentTarget.files ?? [])]), close())} data-test="file" />
          </label>
          <p class="faint note">or drop MCAP files anywhere on the page</p>
        </>
      )}
    </Menu>
  );
}

export function Strip() {
  const robot = followed.value;
  const away = lost.value;
  const writer = robot?.mayWrite.value;
  return (
    <header class="strip">
      <Game robot={robot} />
      <Squad />
      {robot && <Facts key={robot.key} robot={robot} />}
      <span class="spring" />
      {away.length > 0 && (
        <span class="pill lost" data-test="lost">
          {away.length === robots.value.length ? "connection lost, trying again" : `${away.map((r) => r.name || r.key).join(", ")} lost, trying again`}
        </span>
      )}
      <Simulation />
      <div class="tools">
        <ViewMenu />
        <PanelMenu />
        <RobotMenu />
        <LogMenu />
        <button
          class="plain"
          title={writer ? "this page may write" : "this page may only look: open it with the token that the server printed"}
          data-test="write"
          data-may={writer ? "yes" : "no"}
          disabled
        >
          {writer ? <Icon.Unlock /> : <Icon.Lock />}
        </button>
        <button class="plain" title="dark or light" onClick={toggleTheme}>
          <Icon.Moon />
        </button>
      </div>
    </header>
  );
}
