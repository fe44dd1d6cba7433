// The console: who is logged in, the screens, and the keys that work on all of them.

import {Told, told} from "./acts.js";
import {connected, hush, listen, send, session, whoAmI} from "./api.js";
import {Decisions} from "./screens/decisions.js";
import {keepFocus} from "./focus.js";
import {Login} from "./screens/login.js";
import {Models} from "./screens/models.js";
import {Now} from "./screens/now.js";
import {People} from "./screens/people.js";
import {go, place} from "./places.js";
import {Programs} from "./screens/programs.js";
import {Session} from "./screens/session.js";
import {Sessions} from "./screens/sessions.js";
import {Tools} from "./screens/tools.js";
import {effect, html, render, useEffect, useRef} from "./ui.js";
import {Work} from "./screens/work.js";

const SCREENS = [
  ["now", "Now", Now],
  ["sessions", "Sessions", Sessions],
  ["work", "Work", Work],
  ["decisions", "Decisions", Decisions],
  ["people", "People", People],
  ["programs", "Programs", Programs],
  ["models", "Models", Models],
  ["tools", "Tools", Tools],
];

/** Screens that are reached from others, with the screen that they belong to. */
const DETAILS = {session: ["sessions", "Session", Session]};

function Console() {
  const here = place.value;
  const main = useRef(null);
  const first = useRef(true);
  const screen = SCREENS.find(([name]) => name === here.screen) ?? DETAILS[here.screen];
  useEffect(() => {
    document.title = `${screen?.[1] ?? "Console"} · Parley`;
    if (first.current) first.current = false;
    else main.current?.focus();
    document.querySelector(".top nav [aria-current]")?.scrollIntoView({block: "nearest", inline: "center"});
    told.value = {text: "", bad: false};
  }, [here.screen, here.rest.join("/")]);
  useEffect(() => {
    document.addEventListener("keydown", keys);
    return () => document.removeEventListener("keydown", keys);
  }, []);
  if (session.value === undefined) return null;
  if (!session.value.role) return html`<${Login} />`;
  const Screen = screen?.[2];
  return html`
    <a class="skip" href="#main" onClick=${(event) => { event.preventDefault(); main.current.focus(); }}>To the screen</a>
    <header class="top">
      <strong><img src="/assets/icon.svg" alt="" width="24" height="24" /> <span class="word">Parley</span></strong>
      <nav aria-label="Screens">
        ${SCREENS.map(([name, title], number) => html`
          <a key=${name} href=${`#/${name}`} aria-keyshortcuts=${String(number + 1)}
            aria-current=${screen?.[0] === name ? "page" : null}>${title}</a>`)}
      </nav>
      <div class="who">
        ${!connected.value && html`<span class="bad" role="status">Not connected</span>`}
        <span title=${session.value.acts ? "" : "Owners can change something here with console.acts = true."}>${session.value.name ? `${session.value.name}, ` : ""}${session.value.role}${session.value.acts ? "" : ", read-only"}</span>
        ${session.value.from_chat ? html`<a class="button" href="/">Chat</a>` : html`
          <button onClick=${() => leave({})}>Log out</button>
          <button onClick=${() => leave({everywhere: "yes"})}>Log out everywhere</button>`}
      </div>
    </header>
    <main id="main" ref=${main} tabindex="-1">
      <${Told} />
      ${Screen ? html`<${Screen} key=${`${here.screen}/${here.rest.join("/")}`} rest=${here.rest} query=${here.query} />` : html`<h1>There is no such screen</h1>
        <p><a href="#/now">Go to Now</a></p>`}
    </main>`;
}

async function leave(how) {
  try {
    await send("/console/logout", how);
  } finally {
    await whoAmI();
  }
}

function keys(event) {
  if (event.ctrlKey || event.metaKey || event.altKey || event.target.closest("input, textarea, select, dialog[open]")) return;
  const screen = SCREENS[Number(event.key) - 1];
  if (screen) go(screen[0]);
  else if (event.key === "/") document.getElementById("filter")?.focus();
  else if (["j", "ArrowDown"].includes(event.key) && !event.target.closest(".virtual, .scroll, .strip, pre")) document.querySelector(".virtual")?.focus();
  else return;
  event.preventDefault();
}

effect(() => {
  if (session.value?.role) listen();
  else hush();
});
void whoAmI();
keepFocus(document.getElementById("console"));
const root = document.getElementById("console");
root.replaceChildren(); // what stood there until now
render(html`<${Console} />`, root);
