// A client of the bus in Node 20 or newer, without packages: reads server-sent events, also across restarts.
//
//   export PARLEY_TOKEN_FILE=/run/secrets/ci; node bus_client.mjs http://127.0.0.1:8420 "agent.*"      # prints events
//   node bus_client.mjs http://127.0.0.1:8420 send build.done 7 '{"ok": true}'
import { readFileSync } from "node:fs";
import { setTimeout as pause } from "node:timers/promises";

const PAUSE_MS = 500;
const SILENCE_MS = 40_000;
const [url, first, ...rest] = process.argv.slice(2);
const token = readFileSync(process.env.PARLEY_TOKEN_FILE, "utf8").trim();
const headers = { authorization: `Bearer ${token}`, "content-type": "application/json" };

// Asks until the gateway answers, and gives what `read` makes of the answer. Asking again does no harm: events have ids.
async function ask(path, options, read) {
  for (;;) {
    const stop = new AbortController();
    const timer = setTimeout(() => stop.abort(), SILENCE_MS);
    try {
      const answer = await fetch(`${url}/bus/v1${path}`, { ...options, signal: stop.signal });
      if (answer.ok) return await read(answer, timer);
      if (answer.status < 500 && answer.status !== 429) {
        console.error(`${answer.status}: ${await answer.text()}`);
        process.exit(1);
      }
    } catch {
      // the gateway is away, or was cut off in the middle of an answer
    } finally {
      clearTimeout(timer);
    }
    await pause(PAUSE_MS);
  }
}

// The blocks of a stream of server-sent events: fields by name.
async function* blocks(body) {
  let text = "";
  for await (const piece of body.pipeThrough(new TextDecoderStream())) {
    text += piece;
    for (let end; (end = text.indexOf("\n\n")) >= 0; text = text.slice(end + 2)) {
      const fields = {};
      for (const line of text.slice(0, end).split("\n")) {
        const colon = line.indexOf(": ");
        if (colon > 0) fields[line.slice(0, colon)] = line.slice(colon + 2);
      }
      yield fields;
    }
  }
}

// Prints events as they come, each once. Keep the last id with what you do with the events.
async function print(pattern, after) {
  const seen = new Set();
  const read = async (answer, timer) => {
    for await (const { event, data, id } of blocks(answer.body)) {
      timer.refresh();
      if (event === "bus.gone") return console.error(data); // too late: some are no longer kept
      if (data) {
        const found = JSON.parse(data);
        const key = `${found.source} ${found.id}`;
        if (!seen.has(key)) console.log(data);
        seen.add(key);
        if (seen.size > 10_000) seen.delete(seen.values().next().value);
      }
      if (id) after = id;
    }
    return "cut off";
  };
  const stream = { headers: { ...headers, accept: "text/event-stream" } };
  const address = () => `/events?type=${encodeURIComponent(pattern)}&after=${after}`;
  while ((await ask(address(), stream, (...args) => read(...args).catch(() => "cut off"))) === "cut off");
}

if (first === "send") {
  const [type, id, data] = rest;
  const options = { method: "POST", headers, body: JSON.stringify({ type, id, data: JSON.parse(data) }) };
  console.log(await ask("/events", options, (answer) => answer.text()));
} else {
  await print(first, "oldest");
}
