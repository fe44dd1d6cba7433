/** What this person may do: commands by their role here, and at the console, where each answer leads to its moment. */

import { el, icon } from "../look.js";

const OF_AN_AGENT = /^([\w-]+)\.(\d+)\.\d+$/;
const QUESTION = "M7 7.5a3 3 0 1 1 4.4 2.7Q10 11 10 12.5M10 15v.5";
let barred = new Set();
let words = false;

/** Find out what the person may do; `session` is what the gateway says of them, asked for where it is not given. */
export async function learnStanding(session) {
  try {
    const now = session ?? (await (await fetch("/session")).json());
    barred = new Set(now.barred);
    const console = now.console ? await (await fetch("/console/session")).json() : {};
    words = Boolean(console.words);
    document.getElementById("to-console").hidden = !console.role;
    dispatchEvent(new Event("parley-standing"));
  } catch {
    // The gateway is away: the page says so elsewhere, and asks again when it is loaded.
  }
}

/** Whether the person may give a command; whoever may not would read that they may not. */
export const mayGive = (command) => !barred.has(command);

/** A link to the moment in which a message was said; null where there is none. */
export function whyLink(message) {
  const [, session, page] = (words && message.kind === "agent" && OF_AN_AGENT.exec(message.id)) || [];
  if (!session) return null;
  const href = `/console#/session/${session}?page=${page}`;
  return el("a", { class: "icon", href, target: "_blank", rel: "noopener", title: "Why?", "aria-label": "Why?" }, icon(QUESTION));
}
