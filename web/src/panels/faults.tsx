// Breaks parts of a simulated robot, through the service /sim/command: sensors, servos, the bus, the computer.
import { signal } from "@preact/signals";
import { shown, world } from "../data/clock";
import { useMessage, useNow } from "../ui/hooks";
import { type PanelContext, panel } from "../ui/panel";
import { breakPart } from "../ui/simulation";
import { timeText } from "../ui/timeline";

const FAULTS: { fault: string; about: string; part?: "joint" | "side" }[] = [
  { fault: "eyes blind", about: "the camera gives no pictures, and nothing is seen" },
  { fault: "imu lost", about: "the inertial sensor says nothing" },
  { fault: "imu frozen", about: "it says the same again and again" },
  { fault: "imu spikes", about: "one value in ten is at the end of its range" },
  { fault: "foot lost", about: "the load cells of a foot do not answer", part: "side" },
  { fault: "foot frozen", about: "they say the same again and again", part: "side" },
  { fault: "servo silent", about: "a servo obeys, but its encoder tells nothing", part: "joint" },
  { fault: "servo limp", about: "a servo answers, but gives no torque", part: "joint" },
  { fault: "servo dead", about: "a servo neither moves nor answers", part: "joint" },
  { fault: "servo hot", about: "a servo has switched itself off", part: "joint" },
  { fault: "bus lost", about: "no servo answers, and no goal arrives" },
  { fault: "computer stalled", about: "nothing comes in, nothing goes out" },
];
const TIMES: [number, string][] = [
  [1, "1 s"],
  [5, "5 s"],
  [20, "20 s"],
  [0, "for ever"],
];
const done = signal<{ robot: string; what: string; from: number; until: number }[]>([]);

function Faults({ ctx }: { ctx: PanelContext }) {
  const robot = ctx.robot;
  const joints: string[] = useMessage(robot, "/joint_states", 2000)?.value.name ?? [];
  const now = useNow(500);
  const { duration = 5, joint = joints[0] ?? "", side = "left" } = ctx.settings.value as { duration?: number; joint?: string; side?: string };
  if (!robot || !world.value?.services.value.has("/sim/command")) return <div class="empty">only parts of simulated robots can be broken</div>;
  const name = robot.name;
  const may = world.value.mayWrite.value;
  const act = async ({ fault, part }: (typeof FAULTS)[0]) => {
    const which = part === "joint" ? joint : part === "side" ? side : "";
    if (!(await breakPart(name, fault, which, duration))) return;
    const at = shown();
    done.value = [...done.value.slice(-19), { robot: name, what: `${fault} ${which}`, from: at, until: duration ? at + duration : Infinity }];
  };
  const mend = async () => {
    if (await breakPart(name, "none", "", 0)) done.value = done.value.map((d) => (d.robot === name ? { ...d, until: Math.min(d.until, shown()) } : d));
  };
  return (
    <div class="scrolls fill" data-test="faults">
      <div class="bar">
        <b>{name}</b>
        <select value={duration} onChange={(e) => ctx.set({ duration: Number(e.currentTarget.value) })} aria-label="for how long">
          {TIMES.map(([v, text]) => (
            <option value={v}>{text}</option>
          ))}
        </select>
        <select value={joint} onChange={(e) => ctx.set({ joint: e.currentTarget.value })} aria-label="joint of a servo" data-test="fault-joint">
          {joints.map((j) => (
            <option value={j}>{j}</option>
          ))}
        </select>
        <select value={side} onChange={(e) => ctx.set({ side: e.currentTarget.value })} aria-label="side of a foot">
          <option value="left">left foot</option>
          <option value="right">right foot</option>
        </select>
        <button class="filled" disabled={!may} onClick={mend} data-fault="none">
          mend all
        </button>
      </div>
      <table>
        {FAULTS.map((f) => (
          <tr>
            <td>
              <button class="filled" disabled={!may} onClick={() => act(f)} data-fault={f.fault}>
                {f.fault}
              </button>
            </td>
            <td class="soft">{f.about}</td>
          </tr>
        ))}
      </table>
      {[...done.value].reverse().map((d) => (
        <p class={d.until > now ? "bad" : "faint"} data-test="broken">
          {timeText(d.from)} {d.robot}: {d.what}
          {d.until === Infinity ? "" : d.until > now ? `, until ${timeText(d.until)}` : ", over"}
        </p>
      ))}
    </div>
  );
}
panel({ id: "faults", title: "Break", about: "breaks sensors and servos of a simulated robot", group: "match", view: Faults });
