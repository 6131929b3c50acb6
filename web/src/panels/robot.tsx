// The followed robot in words: what it does, why, and how it is.
import { ROLES } from "../ui/strip";
import { useMessage, useNow } from "../ui/hooks";
import { type PanelContext, panel } from "../ui/panel";
import { constantName } from "../data/schema";
import type { Entry, Robot } from "../data/robot";

const word = (s: string | undefined) => (s ?? "").toLowerCase().replaceAll("_", " ");
const m = (v: number) => (Number.isFinite(v) ? v.toFixed(2) : "–");

function Row({ name, entry, limit = 2, now, children }: { name: string; entry: Entry | undefined; limit?: number; now: number; children: () => any }) {
  if (!entry) return null;
  const age = now - entry.time;
  return (
    <>
      <dt>{name}</dt>
      <dd class={age > limit ? "stale" : ""} data-row={name}>
        {children()}
        {age > limit && <span class="age">{age.toFixed(0)} s old</span>}
      </dd>
    </>
  );
}

function RobotPanel({ ctx }: { ctx: PanelContext }) {
  const robot = ctx.robot;
  return robot ? <About key={robot.key} robot={robot} /> : <div class="empty">no robot yet</div>;
}
function About({ robot }: { robot: Robot }) {
  const now = useNow(200);
  const plan = useMessage(robot, "/strategy_plan");
  const behaviour = useMessage(robot, "/behavior_state");
  const hcm = useMessage(robot, "/hcm_state");
  const pose = useMessage(robot, "/pose");
  const ball = useMessage(robot, "/ball");
  const nav = useMessage(robot, "/navigation_state");
  const walk = useMessage(robot, "/walk_command");
  const team = useMessage(robot, "/team_state");
  const match = useMessage(robot, "/match_state");
  if (!plan && !behaviour && !hcm && !pose)
    return <div class="empty">{robot.connection.value === "connected" ? `${robot.name} says nothing of itself` : `${robot.name || robot.key} is ${robot.connection.value}`}</div>;
  return (
    <div class="scrolls" style={{ height: "100%" }}>
      <dl class="grid2" style={{ margin: 0 }}>
        <Row name="role" entry={plan} now={now}>
          {() => (
            <>
              {ROLES[plan!.value.own_role] ?? "?"} <span class="faint">{plan!.value.situation}</span>
            </>
          )}
        </Row>
        <Row name="does" entry={behaviour} now={now}>
          {() => (
            <>
              {behaviour!.value.skill || behaviour!.value.states.at(-1)} <span class="faint">{behaviour!.value.reason}</span>
            </>
          )}
        </Row>
        <Row name="body" entry={hcm} now={now}>
          {() => (
            <>
              {word(constantName(robot.topic("/hcm_state")!.schema.root, "state", hcm!.value.state))} <span class="faint">{hcm!.value.reason}</span>
            </>
          )}
        </Row>
        <Row name="rules" entry={match} now={now}>
          {() => (
            <>
              {match!.value.penalized ? <span class="warn">penalised</span> : match!.value.may_play ? "may play" : match!.value.may_move ? "may move" : "stands"}{" "}
              <span class="faint">{match!.value.reason}</span>
            </>
          )}
        </Row>
        <Row name="is at" entry={pose} now={now}>
          {() => {
            const p = pose!.value.pose.pose.position;
            const c = pose!.value.pose.covariance;
            return (
              <>
                {m(p.x)}, {m(p.y)} m <span class="faint">± {(100 * Math.sqrt(Math.max(c[0], c[7]))).toFixed(0)} cm</span>
              </>
            );
          }}
        </Row>
        <Row name="ball" entry={ball} now={now}>
          {() => {
            const b = ball!.value;
            if (!b.valid) return <span class="faint">not known</span>;
            return (
              <>
                {m(Math.hypot(b.position.x, b.position.y))} m away, {m(Math.hypot(b.velocity.x, b.velocity.y))} m/s{" "}
                <span class="faint">seen {Math.max(0, ball!.time - (b.last_seen.sec + b.last_seen.nanosec * 1e-9)).toFixed(1)} s ago</span>
              </>
            );
          }}
        </Row>
        <Row name="goes to" entry={nav} now={now}>
          {() =>
            nav!.value.accepted === false ? (
              <span class="warn">{nav!.value.reason}</span>
            ) : (
              <>
                {m(nav!.value.remaining_distance)} m <span class="faint">{nav!.value.arrived ? "arrived" : `${m(nav!.value.remaining_time)} s`}</span>
              </>
            )
          }
        </Row>
        <Row name="walks" entry={walk} now={now}>
          {() => {
            const v = walk!.value.velocity;
            return walk!.value.mode === 0 ? "stands" : `${m(v.linear.x)}, ${m(v.linear.y)} m/s, ${m(v.angular.z)} rad/s`;
          }}
        </Row>
        <Row name="mates" entry={team} now={now}>
          {() => (
            <>
              {team!.value.mates.map((t: any) => (
                <span class={t.alive ? "" : "faint"} title={`${t.received} messages, ${t.lost} lost`}>
                  {t.player_number}:&nbsp;{ROLES[t.message.role]}{" "}
                </span>
              ))}
            </>
          )}
        </Row>
      </dl>
    </div>
  );
}
panel({ id: "robot", title: "Robot", about: "the followed robot in words", group: "robot", view: RobotPanel });
