// What the team tells each other, and how many messages the rules leave.
import { players } from "../data/clock";
import type { Robot } from "../data/robot";
import { wordOf } from "../data/schema";
import { follow } from "../data/session";
import { useMessage, useNow } from "../ui/hooks";
import { type PanelContext, panel } from "../ui/panel";
import { ageText } from "./topics";

const seconds = (t: any) => Number(t.sec) + Number(t.nanosec) * 1e-9;
const word = (robot: Robot, field: string, value: number) => {
  const shape = robot.topics.value.get("/team_message")?.schema.root;
  return shape ? wordOf(shape, `${field.toUpperCase()}_`, value) : String(value);
};
function Mate({ robot, m, heard, delay, received, lost, own }: { robot: Robot; m: any; heard?: number; delay?: number; received?: number; lost?: number; own?: boolean }) {
  const silent = heard !== undefined && heard > 5;
  const mate = players.value.find((p) => p.team !== undefined && p.team === robot.team && p.name.endsWith(String(m.player_number)));
  return (
    <tr class={silent ? "stale" : ""} data-mate={m.player_number} onClick={() => follow(mate)}>
      <td>
        <b>{m.player_number}</b>
        {own && <span class="faint"> itself</span>}
      </td>
      <td>{word(robot, "role", m.role)}</td>
      <td>{word(robot, "state", m.state)}</td>
      <td>{word(robot, "action", m.action)}</td>
      <td class="number">
        {m.pose.pose.x.toFixed(2)} {m.pose.pose.y.toFixed(2)}
      </td>
      <td class="number">{m.ball_known ? `${m.ball.x.toFixed(2)} ${m.ball.y.toFixed(2)}` : ""}</td>
      <td class="number">{m.ball_known ? ageText(m.ball_age) : ""}</td>
      <td class="number">{Number.isFinite(m.time_to_ball) ? `${m.time_to_ball.toFixed(1)} s` : ""}</td>
      <td>{m.ball_claimed ? "●" : ""}</td>
      <td class="number">{(100 * m.battery).toFixed(0)} %</td>
      <td class="number">{heard === undefined ? "" : ageText(Math.max(0, heard))}</td>
      <td class="number">{delay === undefined ? "" : ageText(delay)}</td>
      <td class={`number ${lost ? "warn" : ""}`}>{received === undefined ? "" : `${received}${lost ? ` (${lost} lost)` : ""}`}</td>
      <td class="bad">{m.errors}</td>
    </tr>
  );
}
// What nutmeg monitor hears in the status packets of the robots.
function Monitor({ robot }: { robot: Robot }) {
  const m = useMessage(robot, "/team_monitor")?.value;
  if (!m?.robots.length) return null;
  return (
    <table data-test="monitor">
      <tr>
        {["", "does", "because", "battery", "hottest", "heard", "broken"].map((c) => (
          <th>{c}</th>
        ))}
      </tr>
      {m.robots.map((r: any, i: number) => (
        <tr class={m.age[i] > 5 ? "stale" : ""}>
          <td>
            <b>{r.player_number}</b>
          </td>
          <td>{r.skill}</td>
          <td>{r.reason}</td>
          <td class="number">{Number.isFinite(r.battery) ? `${(100 * r.battery).toFixed(0)} %` : ""}</td>
          <td>{Number.isFinite(r.temperature) ? `${r.temperature.toFixed(0)} °C ${r.hottest}` : ""}</td>
          <td class="number">{ageText(m.age[i])}</td>
          <td class="bad">{[r.hardware, r.software].filter(Boolean).join("; ")}</td>
        </tr>
      ))}
    </table>
  );
}
function Team({ ctx }: { ctx: PanelContext }) {
  const robot = ctx.robot;
  const own = useMessage(robot, "/team_message")?.value;
  const team = useMessage(robot, "/team_state");
  const match = useMessage(robot, "/match_state")?.value;
  useNow(500);
  if (!robot || (!own && !team)) return <div class="empty">{robot ? `${robot.name} tells nothing to a team` : "no robot yet"}</div>;
  const now = team ? seconds(team.value.header.stamp) : NaN;
  const budget = match?.message_budget;
  return (
    <div class="column">
      <div class="bar numbers">
        {budget !== undefined && <span data-test="budget">{budget === 65535 ? "no limit of messages" : `${budget} messages left`}</span>}
        {team && <span class="soft">{Number.isFinite(team.value.interval) ? `one message in ${team.value.interval.toFixed(1)} s is allowed` : "no message is allowed now"}</span>}
      </div>
      <div class="scrolls fill">
        <table data-test="team">
          <tr>
            {["", "role", "state", "does", "place", "ball", "seen", "to the ball", "claims", "battery", "heard", "delay", "messages", ""].map((c) => (
              <th>{c}</th>
            ))}
          </tr>
          {own && <Mate robot={robot} m={own} own />}
          {team?.value.mates.map((t: any) => (
            <Mate robot={robot} m={t.message} heard={now - seconds(t.heard)} delay={t.delay} received={t.received} lost={t.lost} />
          ))}
        </table>
        <Monitor robot={robot} />
      </div>
    </div>
  );
}
panel({ id: "team", title: "Team", about: "messages of the mates, and the budget that the rules leave", group: "match", view: Team });
