// The API of the bus and the tapes, asked with the console's cookie, and the news that keep every screen live.

import {signal} from "./ui.js";

/** Who is logged in: undefined while that is not known, {role: null} for nobody. */
export const session = signal(undefined);
/** Counts up, at most once a second, when something happened in the gateway. */
export const news = signal(0);
/** Whether the stream of news is open. */
export const connected = signal(true);

export class Refused extends Error {
  constructor(status, text) {
    super(text);
    this.status = status;
  }
}

async function answered(response) {
  let data = {};
  try {
    data = await response.json();
  } catch { /* an answer without JSON has its status */ }
  if (response.status === 401 && session.value?.role) session.value = {role: null, ended: true};
  if (!response.ok) throw new Refused(response.status, data.error ?? `The gateway answers ${response.status}.`);
  return data;
}

/** GET with a query; values that are empty are left out. */
export async function get(path, query = {}, signal_ = undefined) {
  const asked = new URLSearchParams(Object.entries(query).filter(([, value]) => value !== "" && value != null));
  const text = asked.toString();
  return answered(await fetch(text ? `${path}?${text}` : path, {signal: signal_}));
}

/** A request that changes something; the header is what no foreign page can send. */
export async function send(path, data = {}, method = "POST") {
  const headers = {"content-type": "application/json", "x-parley-console": "1"};
  return answered(await fetch(path, {method, headers, body: JSON.stringify(data)}));
}

export async function whoAmI() {
  try {
    session.value = await get("/console/session");
  } catch {
    session.value ??= {role: null};
  }
}

let stream = null;
let pending = 0;

/** Listen to what happens, until nobody is logged in. A stream that the gateway ends is opened again by the browser. */
export function listen() {
  if (stream) return;
  stream = new EventSource("/bus/v1/events?type=%3E");
  stream.onopen = () => {
    connected.value = true;
    tell();
  };
  stream.onmessage = tell;
  stream.onerror = () => {
    connected.value = false;
    if (stream.readyState === EventSource.CLOSED) {
      hush();
      void whoAmI().then(() => session.value?.role && setTimeout(listen, 2000));
    }
  };
}

export function hush() {
  stream?.close();
  stream = null;
}

function tell() {
  if (pending) return;
  pending = setTimeout(() => {
    pending = 0;
    news.value += 1;
  }, 1000);
}

// What no event tells, such as a node that is gone, is looked at every ten seconds while somebody looks.
setInterval(() => document.hidden || !session.value?.role || (news.value += 1), 10_000);
