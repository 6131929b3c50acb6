// The page: the strip, the dock and the line of time.
import { render } from "preact";
import { useEffect, useRef } from "preact/hooks";
import "./panels";
import { Score } from "./panels/referee";
import { Calibrate, Label } from "./pages/pictures";
import "./style.css";
import { cursor } from "./data/clock";
import { address, begin, openLogNamed } from "./data/session";
import { makeDock, openView, showLayout, view } from "./ui/dock";
import { dropLogs, hashNow, keepAddress, listenToKeys, say, toasts, unpack } from "./ui/shell";
import { Strip } from "./ui/strip";
import { Timeline } from "./ui/timeline";

const wanted = hashNow();
const logs = address.getAll("log").filter(Boolean); // ?log=red1.mcap&log=red2.mcap

function Toasts() {
  return (
    <div class="toasts" role="status">
      {toasts.value.map((t) => (
        <div class={`toast ${t.error ? "error" : ""}`} key={t.id}>
          {t.text}
        </div>
      ))}
    </div>
  );
}
function App() {
  const dock = useRef<HTMLDivElement>(null);
  useEffect(() => {
    makeDock(dock.current!, wanted.view ?? "match");
    if (wanted.layout)
      unpack(wanted.layout)
        .then((text) => showLayout(JSON.parse(text)))
        .catch(() => say("The arrangement in this address cannot be read.", true));
    keepAddress();
    listenToKeys();
    dropLogs();
    if (logs.length) openLogNamed(logs).catch((error) => say(error.message, true));
    addEventListener("hashchange", () => {
      const now = hashNow();
      if (now.view && now.view !== view.value) openView(now.view);
    });
  }, []);
  return (
    <>
      <Strip />
      <main class="dock" ref={dock} />
      <Timeline />
      <Toasts />
    </>
  );
}

if (wanted.t && Number.isFinite(Number(wanted.t))) cursor.value = Number(wanted.t);
begin();
const pages: Record<string, () => any> = { "/score": Score, "/label": Label, "/calibrate": Calibrate };
const Page = pages[location.pathname] ?? App;
render(<Page />, document.getElementById("app")!);
