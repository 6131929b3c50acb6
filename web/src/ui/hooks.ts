// What components use to read robots.
import { useEffect, useRef, useState } from "preact/hooks";
import { onFrame } from "../data/clock";
import type { Entry, Robot, Topic } from "../data/robot";

// The message of a topic at the time that is shown. The component renders again when it changes, at most every `every` ms.
export function useMessage(robot: Robot | undefined, name: string, every = 120): Entry | undefined {
  return useTopic(robot?.topics.value.get(name), every);
}
export function useTopic(topic: Topic | undefined, every = 120): Entry | undefined {
  const [state, set] = useState<{ topic: Topic; entry: Entry | undefined } | undefined>(undefined);
  useEffect(() => {
    if (!topic) return;
    const release = topic.hold();
    let drawn = 0;
    let last: Entry | undefined;
    const end = onFrame((now) => {
      const at = performance.now();
      if (at - drawn < every) return;
      const found = Number.isNaN(now) ? undefined : topic.at(now);
      if (found?.time === last?.time && found?.value === last?.value) return;
      drawn = at;
      last = found;
      set({ topic, entry: found });
    });
    return () => {
      end();
      release();
    };
  }, [topic, every]);
  return state && state.topic === topic ? state.entry : undefined; // what another topic said before is not its
}
// Renders the component again every so often, with the time that is shown: for ages and rates.
export function useNow(every = 500): number {
  const [now, set] = useState(NaN);
  const drawn = useRef(0);
  useEffect(
    () =>
      onFrame((time) => {
        const at = performance.now();
        if (at - drawn.current < every) return;
        drawn.current = at;
        set(time);
      }),
    [every],
  );
  return now;
}
