// The official client in JavaScript. Usage: node client.mjs PORT BINDING TOKEN_FILE order|answer [TASK]
// Prints one JSON line for each thing that it learns.
import { readFileSync } from "node:fs";
import {
  ClientFactory,
  ClientFactoryOptions,
  JsonRpcTransportFactory,
  RestTransportFactory,
} from "@a2a-js/sdk/client";

const [port, binding, tokenFile, mode, task] = process.argv.slice(2);
const token = readFileSync(tokenFile, "utf8").trim();
const fetchImpl = (input, init = {}) =>
  fetch(input, { ...init, headers: { ...Object.fromEntries(new Headers(init.headers)), authorization: `Bearer ${token}` } });
const transports = [new JsonRpcTransportFactory({ fetchImpl }), new RestTransportFactory({ fetchImpl })];
const options = ClientFactoryOptions.createFrom(ClientFactoryOptions.default, { transports, preferredTransports: [binding] });
const client = await new ClientFactory(options).createFromUrl(`http://127.0.0.1:${port}`);

const ROLE_USER = 1;
const say = (learned) => console.log(JSON.stringify(learned));
const message = (id, text, { skill, taskId = "" } = {}) => ({
  message: {
    messageId: `${binding}.${id}`,
    role: ROLE_USER,
    taskId,
    contextId: "",
    parts: [{ content: { $case: "text", value: text }, filename: "", mediaType: "", metadata: undefined }],
    metadata: skill && { skill: `parcels.Courier.${skill}` },
    extensions: [],
    referenceTaskIds: [],
  },
  configuration: undefined,
  metadata: undefined,
  tenant: "",
});
const textsOf = (parts) => parts.filter((part) => part.content?.$case === "text").map((part) => part.content.value);

async function follow(events) {
  for await (const { payload } of events) {
    const found = payload.value;
    if (payload.$case === "task") say({ task: found.id });
    if (payload.$case === "statusUpdate") say({ said: textsOf(found.status.message?.parts ?? []), state: found.status.state });
    if (payload.$case === "artifactUpdate") say({ result: found.artifact.parts.map((part) => part.content.value) });
  }
}

if (mode === "order") {
  await follow(client.sendMessageStream(message("1", "a box", { skill: "Bring" })));
  await follow(client.sendMessageStream(message("2", "it", { skill: "Choose" })));
} else {
  const asked = await client.getTask({ id: task, tenant: "" });
  say({ asks: textsOf(asked.status.message.parts), history: asked.history.flatMap((one) => textsOf(one.parts)) });
  await follow(client.sendMessageStream(message("3", "left", { taskId: task })));
}
