// How a session stood at one moment: agents, their stacks and variables, the program, and what led to it.

import {Act} from "../acts.js";
import {get} from "../api.js";
import {lineOf, Program, written} from "./program.js";
import {Changeable} from "./scratch.js";
import {momentOf, sentence} from "./strip.js";
import {html, useEffect, useState} from "../ui.js";
import {plural, time} from "../words.js";

const CAUSE_CHARS = 300;
const MOST_CAUSES = 12;

export function Moment({tape, at, answer, program, marks, classes, onMoment, onState, changing}) {
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
      <${Causes} marks=${marks} at=${at} answer=${answer} program=${program} classes=${classes} here=${here} onMoment=${onMoment} />
      <${Program} name=${state.program} program=${program} here=${here} same=${state.same_program} />
      ${state.agents.map((agent) => html`<${Agent} key=${agent.id} agent=${agent} program=${program} here=${here} changing=${changing} classes=${classes} />`)}
      ${state.meetings.map((meeting) => html`
        <div key=${meeting.id} class="card"><h3>Meeting: ${meeting.topic} <small>${meeting.status}</small></h3>
          ${meeting.status !== "ended" && at === state.head && html`<${Act} label="End the meeting" about=${meeting.topic} danger question="The meeting ends for all who are in it."
            path=${`/bus/v1/sessions/${tape.split("sessions.")[1]}/meetings/${meeting.id}/end`} done="The meeting is to end." />`}
          <p class="quiet">${meeting.joined.map((who) => classes.get(who) ?? state.people.find((one) => one.id === who)?.name ?? who).join(", ")}</p><${Values} values=${meeting.shared} /></div>`)}
    </section>`;
}

/** The playbook that the moment belongs to: that of the last mark, else the innermost that is executed. */
function frameAt(running, marks, at) {
  const mark = marks.findLast((one) => one.frame && momentOf(one) <= at && momentOf(one) > at - 20);
  return running.find((frame) => frame.frame === mark?.frame) ?? running.at(-1) ?? null;
}

const shortened = (text) => (text.length > CAUSE_CHARS ? `${text.slice(0, CAUSE_CHARS)} …` : text);

const NO_CAUSES = ["wait", "agent", "step"];
const OF_OTHERS = ["heard", "said", "word", "task"];

/** What led to a moment, the latest first, back to what people said last; to an answer what was over when it began. */
function causesOf(marks, at, answer) {
  const lane = answer?.lane ?? "session";
  const before = marks.filter((mark) => (answer ? mark !== answer && momentOf(mark) < answer.first : momentOf(mark) <= at)
    && !NO_CAUSES.includes(mark.kind) && !(mark.kind === "trouble" && mark.lane === "session") && (lane === "session" || mark.lane === lane || OF_OTHERS.includes(mark.kind)));
  const once = before.filter((mark, at) => mark.kind !== "trouble" || !before.slice(0, at).some((one) => one.kind === "trouble" && one.name === mark.name && one.text === mark.text));
  return once.slice(Math.max(0, once.findLastIndex((mark) => mark.kind === "heard"))).slice(-MOST_CAUSES).reverse();
}

function Causes({marks, at, answer, program, classes, here, onMoment}) {
  const last = causesOf(marks, at, answer);
  return html`
    <div class="card">
      <h3>What led to it</h3>
      ${here?.lines && html`<p class="bad">It failed in ${here.agent}, ${here.playbook}${here.lines.map((line) => html`<br /><code>${line}</code>`)}</p>`}
      ${here?.text && html`<p title=${`${here.step} ${here.text}`}>Step <q>${written(program, here)}</q> <span class="quiet">${lineOf(here)}</span></p>`}
      <ol class="causes">
        ${last.map((mark) => html`
          <li key=${mark.key} class=${mark.ok ? "" : "bad"}>
            <button class="link" onClick=${() => onMoment(momentOf(mark))}>${time(mark.until ?? mark.at)}</button>
            ${" "}${shortened(sentence(mark, classes))}</li>`)}
      </ol>
    </div>`;
}

function Agent({agent, program, here, changing, classes}) {
  return html`
    <div class="card">
      <h3>${classes.get(agent.id) ?? agent.class} <small>${[agent.paused && "paused", agent.waiting && `${plural(agent.waiting, "message")} wait`].filter(Boolean).join(", ")}</small></h3>
      ${!agent.stack.length && html`<p class="quiet">It does nothing.</p>`}
      <ol class="stack">
        ${agent.stack.map((frame) => html`
          <li key=${frame.frame} class=${frame.frame === here?.frame ? "here" : ""}>
            <b>${frame.playbook}</b>${frame.text ? html` <q title=${`${frame.step} ${frame.text}`}>${written(program, frame)}</q> <span class="quiet">${lineOf(frame)}</span>` : ""}
            ${frame.waits_for && html`<span class="quiet"> waits for ${waited(frame.waits_for, classes)}</span>`}
            <${Values} values=${changing ? without(frame.arguments, frame.changeable) : frame.arguments} title="Arguments" />
            ${changing && Object.keys(frame.changeable).length > 0
              ? html`<${Changeable} id=${changing} agent=${agent.id} frame=${frame.frame} values=${frame.changeable} title="Locals" />`
              : html`<${Values} values=${frame.locals} title="Locals" />`}
            ${frame.refused.map((one, number) => html`<p key=${number} class="bad">The check refused: ${one.rule} ${one.message}</p>`)}
            ${frame.calls.length > 0 && html`<details><summary>Answers and calls of this turn (${frame.calls.length})</summary>
              <ul>${frame.calls.map((one, number) => html`<li key=${number} class=${one.error ? "bad" : ""}><b>${one.name}</b>${" "}<code>${one.error ? one.error.join(": ") : shown(one.value)}</code></li>`)}</ul></details>`}
            ${frame.statements.length > 0 && html`<details><summary>Statements of the model (${frame.statements.length})</summary>
              <pre>${frame.statements.map((one) => `${one.error ? "✗" : one.done ? "✓" : "…"} ${one.source}`).join("\n")}</pre></details>`}
          </li>`)}
      </ol>
      ${changing ? html`<${Changeable} id=${changing} agent=${agent.id} values=${agent.variables} title="Variables" />` : html`<${Values} values=${agent.variables} title="Variables" />`}
    </div>`;
}

const without = (values, others) => Object.fromEntries(Object.entries(values).filter(([name]) => !(name in others)));

const waited = (source, classes) => (source.human ? "people" : source.meeting ? `meeting ${source.meeting}` : source.agents ? source.agents.map((one) => classes.get(one) ?? one).join(", ") : "time");

const shown = (value) => (typeof value === "string" ? value : JSON.stringify(value, null, 1));

function Values({values, title}) {
  const entries = Object.entries(values ?? {}).filter(([name]) => name !== "_");
  if (!entries.length) return null;
  return html`
    <dl class="values" aria-label=${title}>
      ${entries.map(([name, value]) => html`<div key=${name}><dt>${name}</dt><dd><code>${shown(value)}</code></dd></div>`)}
    </dl>`;
}
