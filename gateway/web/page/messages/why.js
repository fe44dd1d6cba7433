/** Why an agent said something: for owners who are logged in to the console, each answer leads to its moment there. */

import { el, icon } from "../look.js";

const OF_AN_AGENT = /^([\w-]+)\.(\d+)\.\d+$/;
const QUESTION = "M7 7.5a3 3 0 1 1 4.4 2.7Q10 11 10 12.5M10 15v.5";
let allowed = false;

/** Find out whether this browser may ask why; `there`: there is a console. */
export async function offerWhy(there) {
  if (!there) return;
  try {
    const response = await fetch("/console/session");
    allowed = response.ok && Boolean((await response.json()).words);
  } catch {
    // The gateway is away: the page says so elsewhere, and asks again when it is loaded.
  }
}

/** A link to the moment in which a message was said; null where there is none. */
export function whyLink(message) {
  const [, session, page] = (allowed && message.kind === "agent" && OF_AN_AGENT.exec(message.id)) || [];
  if (!session) return null;
  const href = `/console#/session/${session}?page=${page}`;
  return el("a", { class: "icon", href, target: "_blank", rel: "noopener", title: "Why?", "aria-label": "Why?" }, icon(QUESTION));
}
