// One session: the strip, the chat as people saw it, and how everything stood at one moment.

import {session as login} from "../api.js";
import {Act} from "../acts.js";
import {answerOf} from "../deciding/questions.js";
import {Chat, saidAt} from "../session/chat.js";
import {Facts} from "../session/facts.js";
import {Answer} from "../session/answer.js";
import {Moment} from "../session/moment.js";
import {go} from "../places.js";
import {useProgram} from "../session/program.js";
import {SaveTest} from "../session/saving.js";
import {Composer, ForkHere, isScratch, saying} from "../session/scratch.js";
import {FindHere} from "../searching/here.js";
import {Strip, momentOf} from "../session/strip.js";
import {useStrip} from "../session/window.js";
import {html, useEffect, useMemo, useState} from "../ui.js";
import {ago, count, dollars, exact, plural, programNamed} from "../words.js";

const TITLE_CHARS = 60;

export function Session({rest, query}) {
  const id = rest[0] ?? "";
  const page = Number(query.get("page")) || 0;
  const wanted = Number(query.get("at")) || 0;
  const {tape, about, strip, trouble, earlier, later} = useStrip(id, wanted || page);
  const head = strip?.head ?? 0;
  const at = wanted ? Math.min(wanted, head || wanted) : head;
  const explained = strip && saidAt(strip.marks, at);

  const [{agents, people, questions, at_work, same_program}, setKnown] = useState({agents: [], people: [], questions: [], at_work: false});
  const program = useProgram(login.value.words ? about?.program : "", same_program);
  const [as, setAs] = useState("");
  const copy = isScratch(about);
  const classes = useMemo(() => {
    const found = new Map();
    for (const mark of strip?.marks ?? []) if (mark.kind === "agent") found.set(mark.lane, mark.name);
    for (const agent of agents) found.set(agent.id, agent.class); // those that began before what is shown
    const names = [...found.values()];
    for (const [id, name] of found) if (names.indexOf(name) !== names.lastIndexOf(name)) found.set(id, `${name} ${id}`);
    return found;
  }, [strip?.marks, agents]);
  const asked = page && strip?.marks.find((mark) => mark.key === `said:${page}`);
  useEffect(() => {
    if (asked) moment(asked.first);
  }, [page, asked?.key]);
  const moment = (seq) => go(`session/${id}?at=${seq}`, {instead: true});

  const past = strip && html`
    ${!strip.marks.length && html`<p class="quiet">Nothing has happened in it that has a mark.</p>`}
    <${Strip} marks=${strip.marks} at=${at} classes=${classes} onMoment=${moment} earlier=${earlier} later=${later} />
    ${login.value.words && html`<${FindHere} tape=${tape} onMoment=${moment} />`}`;

  return html`
    <p class="path"><a href="#/sessions">Sessions</a></p>
    <h1>${about?.first ? html`<bdi>${about.first.slice(0, TITLE_CHARS)}</bdi> <small>${about.conversation}</small>` : about?.conversation ?? "Session"} ${about && html`<small class=${`state ${about.state}`}>${about.state}</small>`}</h1>
    ${trouble && html`<p class="trouble" role="alert">${trouble}</p>`}
    ${about && html`<p class="quiet" title=${about.node ? `At node ${about.node}` : null}>Program <b>${programNamed(about.program)}</b>, ${plural(about.facts, "entry", "entries")}, began ${exact(about.started_at)},
      last active ${ago(about.last_at)}.${about.spent.answers > 0 && html` Models: ${plural(about.spent.answers, "answer")}, ${count(about.spent.tokens_in)} tokens in, ${count(about.spent.tokens_out)} out, ${dollars(about.spent.usd, about.spent.unpriced)}.`}
      ${about.parent && html` It continues <a href=${`#/session/${about.parent.session}?at=${about.parent.seq}`}>another session</a>.`}
      ${people.length > 0 && html` With ${people.map((one, number) => html`${number ? ", " : ""}<a key=${one.id} href=${`#/people?${new URLSearchParams({person: one.id})}`} title=${one.id}><bdi>${one.name}</bdi></a>`)}.`}
      ${about.replaced_by && html` <a href=${`#/session/${about.replaced_by}`}>Another one</a> goes on in its place.`}</p>`}
    ${about && html`
      <div class="buttons">
        <${Act} label="Stop" path=${`/bus/v1/sessions/${id}/stop`} question="All its work stops, as with /stop." done="It is asked to stop." />
        <${ForkHere} id=${id} at=${at || null} />
        <${SaveTest} id=${id} />
        <${Act} label="Fork" path=${`${tape}/fork`} question="It continues in a second place as well, where its platform can open one." done="It is asked to fork." />
        ${login.value.words && html`<a class="button" href=${`/bus/v1/sessions/${id}/export`} download>Export</a>`}
        <${Act} label="Delete" danger method="DELETE" path=${`/bus/v1/sessions/${id}`} done="The session is deleted."
          question="The session is deleted for good, with its messages in Parley's rooms and its files." then=${() => go("sessions")} />
      </div>`}
    ${strip && html`
      ${!copy && past}
      <p class="moment-line" role="status">
        ${wanted && at < head
          ? html`As it was after entry ${count(at)} of ${count(head)}. <button onClick=${() => go(`session/${id}`, { instead: true })}>Go to now</button>`
          : html`As it is now, after ${plural(head, "entry", "entries")}.`}
      </p>
      <div class="session-below">
        <${Chat} marks=${strip.marks} at=${at} head=${head} classes=${classes} questions=${questions} onWhy=${moment}
          title=${copy ? "Scratch room" : "What people saw"} answering=${copy ? saying(id, as) : answerOf(id)}>
          ${copy && login.value.acts && html`<${Composer} id=${id} people=${people} as=${as} setAs=${setAs} words=${query.get("words") ?? ""} working=${at === head && at_work} />`}
        <//>
        ${login.value.words
          ? html`<div>${explained?.kind === "said" && html`<${Answer} key=${explained.key} tape=${tape} mark=${explained} program=${program} marks=${strip.marks} head=${head} />`}
            <${Moment} tape=${tape} at=${at} answer=${explained?.kind === "said" && at < momentOf(explained) ? explained : null} program=${program} marks=${strip.marks} classes=${classes} onMoment=${moment} onState=${setKnown}
              changing=${copy && login.value.acts && at === head ? id : null} /></div>`
          : html`<p class="quiet">Variables and words are for owners.</p>`}
      </div>
      ${copy && past}
      ${login.value.words && html`<${Facts} tape=${tape} at=${at} onMoment=${moment} />`}`}`;
}
