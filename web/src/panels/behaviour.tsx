// The behaviour's active options, each with its state, how long, and why.
import type { Robot } from "../data/robot";
import { useMessage, useNow } from "../ui/hooks";
import { type PanelContext, panel } from "../ui/panel";

function Behaviour({ ctx }: { ctx: PanelContext }) {
  return ctx.robot ? <Tree key={ctx.robot.key} robot={ctx.robot} /> : <div class="empty">no robot yet</div>;
}
function Tree({ robot }: { robot: Robot }) {
  const entry = useMessage(robot, "/behavior_state");
  const now = useNow(250);
  const b = entry?.value;
  if (!b) return <div class="empty">{robot.topics.value.has("/behavior_state") ? "the behaviour has not said anything yet" : `${robot.name} has no behaviour`}</div>;
  const age = now - entry.time;
  return (
    <div class={`tree ${age > 2 ? "stale" : ""}`} data-test="behaviour">
      {b.options.map((option: string, i: number) => (
        <div class={`option ${i === b.options.length - 1 ? "leaf" : ""}`} style={{ marginLeft: `${12 * (b.depths[i] ?? i)}px` }}>
          <b>{option}</b> <span class="state">{b.states[i]}</span> <span class="faint numbers">{b.durations[i]?.toFixed(1)} s</span>
          {b.reasons[i] && <span class="why">{b.reasons[i]}</span>}
        </div>
      ))}
      {b.skill && (
        <p class="soft">
          skill <b>{b.skill}</b> {b.interruptible ? "" : <span class="faint">may not be interrupted</span>}
        </p>
      )}
      {age > 2 && <p class="age">{age.toFixed(0)} s old</p>}
    </div>
  );
}
panel({ id: "behaviour", title: "Behaviour", about: "the options that are active, and why", group: "robot", view: Behaviour });
