// How a session stood at one moment: agents, their stacks and variables, the program, and what led to it.

import {Act} from "../acts.js";
import {get} from "../api.js";
import {Changeable} from "./scratch.js";
import {momentOf, sentence} from "./strip.js";
import {html, useEffect, useRef, useState} from "../ui.js";
import {bringIntoView, plural, time} from "../words.js";

/** The texts of programs by name, and when they were fetched: a program may be loaded again. */
const texts = new Map();
const FRESH_MS = 30_000;
const CAUSE_CHARS = 300;

export function Moment({tape, at, marks, classes, onMoment, onState, changing}) {
  const [state, setState] = useState(null);
  const [trouble, setTrouble] = useState("");
  useEffect(() => {
    const stopped = new AbortController();
    const fetched = async () => {
      try {
        const found = await get(`${tape}/state`, {at}, stopped.signal);
        setState(found);
        onState(found);
        setTrouble("");
      } catch (error) {
        if (error.name !== "AbortError") setTrouble(error.message);
      }
    };
    const waits = setTimeout(fetched, 120); // who moves on quickly asks once
    return () => {
      clearTimeout(waits);
      stopped.abort();
    };
  }, [tape, at]);
  if (!state) return html`<section class="moment"><p class=${trouble ? "trouble" : "quiet"}>${trouble || "Reading …"}</p></section>`;
  const running = state.agents.flatMap((agent) => agent.stack.map((frame) => ({...frame, agent})));
  const here = state.raised_at ?? frameAt(running, marks, at);
  return html`
    <section class="moment" aria-labelledby="moment-title">
      <h2 id="moment-title">At this moment</h2>
      ${trouble && html`<p class="trouble" role="alert">${trouble}</p>`}
      ${state.trouble && html`<p class="trouble">The tape cannot be read further: ${state.trouble}</p>`}
      ${state.broken && html`<p class="trouble">The program cannot go on: ${state.broken}</p>`}
      <${Causes} marks=${marks} at=${at} classes=${classes} here=${here} onMoment=${onMoment} />
      <${Program} name=${state.program} here=${here} same=${state.same_program} />
      ${state.agents.map((agent) => html`<${Agent} key=${agent.id} agent=${agent} here=${here} changing=${changing} />`)}
      ${state.meetings.map((meeting) => html`
        <div key=${meeting.id} class="card"><h3>Meeting: ${meeting.topic} <small>${meeting.status}</small></h3>
          ${meeting.status !== "ended" && at === state.head && html`<${Act} label="End the meeting" about=${meeting.topic} danger question="The meeting ends for all who are in it."
            path=${`/bus/v1/sessions/${tape.split("sessions.")[1]}/meetings/${meeting.id}/end`} done="The meeting is to end." />`}
          <p class="quiet">${meeting.joined.join(", ")}</p><${Values} values=${meeting.shared} /></div>`)}
    </section>`;
}

/** The playbook that the moment belongs to: that of the last mark, else the innermost that is executed. */
function frameAt(running, marks, at) {
  const mark = marks.findLast((one) => one.frame && momentOf(one) <= at && momentOf(one) > at - 20);
  return running.find((frame) => frame.frame === mark?.frame) ?? running.at(-1) ?? null;
}

const shortened = (text) => (text.length > CAUSE_CHARS ? `${text.slice(0, CAUSE_CHARS)} …` : text);

function Causes({marks, at, classes, here, onMoment}) {
  const before = marks.filter((mark) => momentOf(mark) <= at && mark.kind !== "wait" && mark.kind !== "agent");
  const last = before.slice(-8).reverse();
  return html`
    <div class="card">
      <h3>What led to it</h3>
      ${here?.lines && html`<p class="bad">It failed in ${here.agent}: ${here.step ?? here.playbook}${here.lines.map((line) => html`<br /><code>${line}</code>`)}</p>`}
      ${here?.text && html`<p>Step ${here.step}: <q>${here.text}</q></p>`}
      <ol class="causes">
        ${last.map((mark) => html`
          <li key=${mark.key} class=${mark.ok ? "" : "bad"}>
            <button class="link" onClick=${() => onMoment(momentOf(mark))}>${time(mark.until ?? mark.at)}</button>
            ${" "}${shortened(sentence(mark, classes))}</li>`)}
      </ol>
    </div>`;
}

function Agent({agent, here, changing}) {
  return html`
    <div class="card">
      <h3>${agent.class} <small>${agent.id}${agent.paused ? ", paused" : ""}${agent.waiting ? `, ${plural(agent.waiting, "message")} wait` : ""}</small></h3>
      ${!agent.stack.length && html`<p class="quiet">It does nothing.</p>`}
      <ol class="stack">
        ${agent.stack.map((frame) => html`
          <li key=${frame.frame} class=${frame.frame === here?.frame ? "here" : ""}>
            <b>${frame.step ?? frame.playbook}</b>${frame.text ? html` <q>${frame.text}</q>` : ""}
            ${frame.waits_for && html`<span class="quiet"> waits for ${waited(frame.waits_for)}</span>`}
            <${Values} values=${changing ? without(frame.arguments, frame.changeable) : frame.arguments} title="Arguments" />
            ${changing && Object.keys(frame.changeable).length > 0
              ? html`<${Changeable} id=${changing} agent=${agent.id} frame=${frame.frame} values=${frame.changeable} title="Locals" />`
              : html`<${Values} values=${frame.locals} title="Locals" />`}
            ${frame.refused.map((one, number) => html`<p key=${number} class="bad">The check refused: ${one.rule} ${one.message}</p>`)}
            ${frame.calls.length > 0 && html`<details><summary>Answers and calls of this turn (${frame.calls.length})</summary>
              <ul>${frame.calls.map((one, number) => html`<li key=${number} class=${one.error ? "bad" : ""}><b>${one.name}</b>${" "}<code>${one.error ? one.error.join(": ") : shown(one.value)}</code></li>`)}</ul></details>`}
            ${frame.statements.length > 0 && html`<details><summary>Statements of the model (${frame.statements.length})</summary>
              <pre>${frame.statements.map((one) => `${one.error ? "✗" : one.done ? "✓" : "…"} ${one.source}`).join("\n")}</pre></details>`}
            ${frame.transcript.length > 0 && html`<details><summary>What the model was told and answered</summary>
              <pre>${frame.transcript.map((one) => shown(one)).join("\n\n")}</pre></details>`}
          </li>`)}
      </ol>
      ${changing ? html`<${Changeable} id=${changing} agent=${agent.id} values=${agent.variables} title="Variables" />` : html`<${Values} values=${agent.variables} title="Variables" />`}
    </div>`;
}

const without = (values, others) => Object.fromEntries(Object.entries(values).filter(([name]) => !(name in others)));

const waited = (source) => (source.human ? "people" : source.meeting ? `meeting ${source.meeting}` : source.agents ? source.agents.join(", ") : "time");

const shown = (value) => (typeof value === "string" ? value : JSON.stringify(value, null, 1));

function Values({values, title}) {
  const entries = Object.entries(values ?? {});
  if (!entries.length) return null;
  return html`
    <dl class="values" aria-label=${title}>
      ${entries.map(([name, value]) => html`<div key=${name}><dt>${name}</dt><dd><code>${shown(value)}</code></dd></div>`)}
    </dl>`;
}

/** What opens a file at a line in VS Code, where the browser is on the machine that has the program. */
const editorLink = (path, line) => `vscode://file${encodeURI(path.startsWith("/") ? path : `/${path}`)}:${line}`;

/** The program as its author wrote it, with the step that runs. */
function Program({name, here, same}) {
  const [program, setProgram] = useState(texts.get(name)?.program ?? null);
  const box = useRef(null);
  useEffect(() => {
    const kept = texts.get(name);
    setProgram(kept?.program ?? null);
    if (kept && Date.now() - kept.at < FRESH_MS) return;
    get(`/bus/v1/programs/${encodeURIComponent(name)}`).then((found) => {
      texts.set(name, {program: found, at: Date.now()});
      setProgram(found);
    }, () => setProgram(null));
  }, [name, same]);
  useEffect(() => {
    bringIntoView(box.current, box.current?.querySelector(".step-here"));
  }, [program, here?.file, here?.line]);
  if (!program) return html`<p class="quiet">The program ${name} is not served here.</p>`;
  const file = program.files.find((one) => one.name === here?.file) ?? program.files[0];
  if (!file) return null;
  return html`
    <div class="card">
      <h3>${file.name}${file.path && html` <a class="path" href=${editorLink(file.path, here?.file === file.name ? here.line : 1)}>Open in the editor</a>`}${same ? "" : html` <small class="bad">has changed since</small>`}</h3>
      <pre class="program" ref=${box} tabindex="0" role="region" aria-label="Program">${file.text.split("\n").map((line, number) => html`
        <span key=${number} class=${here?.file === file.name && here.line === number + 1 ? "step-here" : ""}
          aria-current=${here?.file === file.name && here.line === number + 1 ? "step" : null}><i>${number + 1}</i>${line}${"\n"}</span>`)}</pre>
    </div>`;
}
