// Steers a simulation: its clock, its ball and its robots, through the service /sim/command.
import { signal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import { world } from "../data/clock";
import { useMessage } from "./hooks";
import { say } from "./shell";

const PAUSE = 0;
const RESUME = 1;
const STEP = 2;
const RESET = 3;
const MOVE = 4;
const PUSH = 5;
const SPEED = 6;
const FAULT = 7;
const LOOK = 8;

export const simulation = signal<{ paused: boolean; speed: number } | undefined>(undefined);
// Whether it was done; a refusal is shown with its reason.
async function command(request: Record<string, unknown>): Promise<boolean> {
  const robot = world.peek();
  if (!robot) return false;
  try {
    const answer = await robot.call("/sim/command", request);
    simulation.value = { paused: answer.paused, speed: answer.speed };
    if (!answer.success) say(answer.message, true);
    if (request.command !== LOOK) setTimeout(() => command({ command: LOOK }), 150); // a step ends a little later
    return answer.success;
  } catch (error) {
    say((error as Error).message, true);
    return false;
  }
}
export const moveBody = (name: string, x: number, y: number, a = 0) =>
  command({ command: MOVE, name, pose: { position: { x, y, z: name === "ball" ? 0.07 : 0 }, orientation: { x: 0, y: 0, z: Math.sin(a / 2), w: Math.cos(a / 2) } } });
export const breakPart = (name: string, fault: string, part: string, duration: number) => command({ command: FAULT, name, fault, part, duration });
export const pushBody = (name: string, x: number, y: number) => command({ command: PUSH, name, impulse: { x, y, z: 0 } });

const SPEEDS: [number, string][] = [
  [0.1, "0.1 ×"],
  [0.25, "0.25 ×"],
  [0.5, "0.5 ×"],
  [1, "1 ×"],
  [2, "2 ×"],
  [5, "5 ×"],
  [0, "max"],
];
// In the strip while a simulation is shown.
export function Simulation() {
  const robot = world.value;
  const may = robot?.mayWrite.value;
  const has = robot?.services.value.has("/sim/command");
  useMessage(robot, "/truth/world", 500);
  useEffect(() => {
    if (!robot || !has) return;
    command({ command: LOOK });
    const timer = setInterval(() => command({ command: LOOK }), 3000); // another page may have steered
    return () => clearInterval(timer);
  }, [robot, has]);
  if (!robot || !has) return null;
  const now = simulation.value;
  const why = may ? "" : "this page may only look: open it with the token that the server printed";
  return (
    <div class="tools sim" title={why || "the simulation"} data-test="simulation">
      <button class="filled" disabled={!may} onClick={() => command({ command: now?.paused ? RESUME : PAUSE })} data-test="sim-pause" title={why || "stops and continues the world"}>
        {now?.paused ? "run" : "freeze"}
      </button>
      <button class="filled" disabled={!may || !now?.paused} onClick={() => command({ command: STEP, duration: 0.02 })} title={why || "20 ms further"} data-test="sim-step">
        step
      </button>
      <select
        disabled={!may}
        value={now?.speed ?? 1}
        onChange={(e) => command({ command: SPEED, speed: Number(e.currentTarget.value) })}
        aria-label="speed of the simulation"
        title={why || "speed of the simulation"}
      >
        {SPEEDS.map(([v, name]) => (
          <option value={v}>{name}</option>
        ))}
        {now && !SPEEDS.some(([v]) => Math.abs(v - now.speed) < 1e-6) && <option value={now.speed}>{now.speed.toFixed(2)} ×</option>}
      </select>
      <button class="filled" disabled={!may} onClick={() => confirm("Begin the match again?") && command({ command: RESET })} title={why || "from the start"}>
        reset
      </button>
    </div>
  );
}
