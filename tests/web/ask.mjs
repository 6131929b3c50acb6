// What a robot says, read by an independent client (@foxglove/ws-protocol, rosmsg2-serialization).
import { createRequire } from "node:module";
import { patience } from "../../web/stage.mjs";

const peers = createRequire(new URL("../interop/package.json", import.meta.url));
const { parse } = peers("@foxglove/rosmsg");
const { MessageReader } = peers("@foxglove/rosmsg2-serialization");
const { FoxgloveClient } = peers("@foxglove/ws-protocol");
const WebSocket = peers("ws");

// The newest message of topics of one server.
export async function ask(host, token, topics) {
  const client = new FoxgloveClient({ ws: new WebSocket(`ws://${host}/?token=${token}`, ["foxglove.websocket.v1"]) });
  const answers = {};
  const info = await new Promise((resolve, reject) => {
    const readers = new Map();
    let about;
    setTimeout(() => reject(new Error(`${host} did not tell ${topics}; it told ${Object.keys(answers)}`)), patience).unref();
    client.on("error", reject);
    client.on("serverInfo", (i) => {
      about = i;
      if (!topics.length) resolve(i);
    });
    client.on("advertise", (channels) => {
      for (const c of channels)
        if (topics.includes(c.topic)) readers.set(client.subscribe(c.id), { topic: c.topic, reader: new MessageReader(parse(c.schema, { ros2: true })) });
    });
    client.on("message", ({ subscriptionId, data }) => {
      const { topic, reader } = readers.get(subscriptionId);
      answers[topic] = reader.readMessage(data);
      if (Object.keys(answers).length === topics.length) resolve(about);
    });
  });
  client.close();
  return { info, answers };
}
