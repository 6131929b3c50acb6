// The referee: drives a game of the simulator or of nutmeg referee, which both take orders over /referee/order. The same
// state, large and alone, is the display for spectators at /score.
import { useState } from "preact/hooks";
import { robots } from "../data/clock";
import type { Robot } from "../data/robot";
import { constantName, wordOf } from "../data/schema";
import { useMessage, useNow } from "../ui/hooks";
import { type PanelContext, panel } from "../ui/panel";
import { say } from "../ui/shell";

const referee = (): Robot | undefined => robots.value.find((r) => r.topics.value.has("/referee/state"));
const clockText = (s: number) => `${s < 0 ? "-" : ""}${Math.floor(Math.abs(s) / 60)}:${String(Math.abs(s) % 60).padStart(2, "0")}`;

export function stateWords(robot: Robot, m: any): string {
  const shape = robot.topics.value.get("/referee/state")!.schema.root;
  const state = m.stopped ? "stopped" : (constantName(shape, "state", m.state) ?? "").toLowerCase();
  return `${m.phase ? `${wordOf(shape, "PHASE_", m.phase)}, ` : ""}${state}${m.set_play ? `, ${wordOf(shape, "SET_PLAY_", m.set_play)}` : ""}`;
}
const STEPS = ["standby", "ready", "set", "play", "goal red", "goal blue", "drop", "stop", "continue", "timeout red", "timeout blue", "resume", "finish", "second-half"];
const OFFENCES = ["pushing", "holding", "hands", "fallen", "inactive", "leaving", "position", "area", "motion", "stop", "stuck", "pick-up", "stance", "yellow", "red"];

function RefereePanel({ ctx }: { ctx: PanelContext }) {
  const robot = referee();
  const entry = useMessage(robot, "/referee/state");
  const [order, setOrder] = useState("");
  const [team, setTeam] = useState("red");
  const [number, setNumber] = useState("1");
  const [offence, setOffence] = useState(OFFENCES[0]);
  void ctx;
  if (!robot || !entry) return <div class="empty">nobody here takes orders: nutmeg play and nutmeg referee --live do</div>;
  const m = entry.value;
  const give = (text: string) =>
    robot
      .call("/referee/order", { order: text })
      .then((reply) => say(reply.message, !reply.success))
      .catch((error) => say(error.message, true));
  const locked = !robot.mayWrite.value;
  return (
    <div class="scrolls fill referee" data-test="referee">
      <div class="score">
        <span class="red">red</span>
        <span class="goals">
          {m.own_score}
          <i>:</i>
          {m.rival_score}
        </span>
        <span class="blue">blue</span>
        <span class="numbers">{clockText(m.seconds_remaining)}</span>
        <span class="soft" data-test="referee-state">
          {stateWords(robot, m)}
        </span>
        <a href={`/score${location.search}`} target="_blank" class="faint">
          for spectators
        </a>
      </div>
      <div class="bar">
        {STEPS.map((s) => (
          <button class="filled" disabled={locked} onClick={() => give(s)} data-order={s}>
            {s}
          </button>
        ))}
      </div>
      <div class="bar">
        <select value={team} onChange={(e) => setTeam(e.currentTarget.value)} aria-label="team">
          <option>red</option>
          <option>blue</option>
        </select>
        <input value={number} size={2} onInput={(e) => setNumber(e.currentTarget.value)} aria-label="player" />
        <select value={offence} onChange={(e) => setOffence(e.currentTarget.value)} aria-label="offence">
          {OFFENCES.map((o) => (
            <option>{o}</option>
          ))}
        </select>
        <button class="filled" disabled={locked} onClick={() => give(`penalty ${team} ${number} ${offence}`)}>
          penalty
        </button>
        <button class="filled" disabled={locked} onClick={() => give(`release ${team} ${number}`)}>
          back
        </button>
      </div>
      <form
        class="bar"
        onSubmit={(e) => {
          e.preventDefault();
          give(order);
        }}
      >
        <input value={order} placeholder="any order, such as: kick red corner" onInput={(e) => setOrder(e.currentTarget.value)} style={{ flex: 1 }} aria-label="order" disabled={locked} />
        <button class="filled" disabled={locked || !order}>
          give
        </button>
      </form>
      {["red", "blue"].map((name, t) => (
        <div class="bar">
          <span class={name}>{name}</span>
          {[...(t ? m.rival_penalties : m.penalties)].slice(0, m.players_per_team).map((p: number, i: number) => (
            <span class={`chip ${p ? "on" : ""}`}>
              {i + 1}
              {p ? ` out${!t && m.penalty_seconds[i] ? ` ${m.penalty_seconds[i]} s` : ""}` : ""}
            </span>
          ))}
        </div>
      ))}
    </div>
  );
}
panel({ id: "referee", title: "Referee", about: "drive the game: states, goals, penalties", group: "match", view: RefereePanel });

// ---- /score ----

export function Score() {
  const robot = referee() ?? robots.value.find((r) => r.topics.value.has("/match_state"));
  const topic = robot?.topics.value.has("/referee/state") ? "/referee/state" : "/match_state";
  const entry = useMessage(robot, topic);
  const now = useNow(500);
  const m = entry?.value;
  if (!robot || !m) return <main class="scoreboard empty">waiting for a match</main>;
  const shape = robot.topics.value.get(topic)!.schema.root;
  const stale = now - entry.time > 3 || robot.connection.value === "lost";
  return (
    <main class={`scoreboard ${stale ? "stale" : ""}`} data-test="scoreboard">
      <div class="red">red</div>
      <div class="goals">{m.own_score}</div>
      <div class="middle">
        <b class="numbers">{clockText(m.seconds_remaining)}</b>
        <span>{m.first_half ? "first half" : "second half"}</span>
        <span class="pill">{topic === "/referee/state" ? stateWords(robot, m) : (constantName(shape, "state", m.state) ?? "").toLowerCase()}</span>
      </div>
      <div class="goals">{m.rival_score}</div>
      <div class="blue">blue</div>
    </main>
  );
}
