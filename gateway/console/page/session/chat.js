// A conversation as people saw it, its texts while they grow, and the answers that an open question offers.

import {colorCode} from "/assets/messages/colors.js";
import {render as rendered} from "/assets/messages/markdown.js";
import {hueOf, initials, lookKey} from "/assets/look.js";
import {Act} from "../acts.js";
import {session as login} from "../api.js";
import {html, useEffect, useLayoutEffect, useRef} from "../ui.js";
import {bringIntoView, time} from "../words.js";

const NEAR_END_PX = 60;

/**
 * The messages of `marks`, the one of moment `at` marked. `questions` are those that are open now; `answering` gives the
 * path and the body of a press on one of their options, null where others have to. What stands in it is written to whom one speaks with.
 */
export function Chat({marks, at, head, classes, questions, answering, onWhy, title, children}) {
  const said = marks.filter(isMessage);
  const box = useRef(null);
  const follows = useRef(true);
  const top = useRef(0);
  const current = saidAt(marks, at);
  useEffect(() => {
    follows.current = at === head;
    if (!follows.current) bringIntoView(box.current, box.current.querySelector("[aria-current]"));
  }, [at === head ? 0 : at, said.length]);
  useLayoutEffect(() => {
    if (follows.current) box.current.scrollTop = box.current.scrollHeight;
  });
  useEffect(() => {
    const watcher = new ResizeObserver(([{target}]) => follows.current && (target.scrollTop = target.scrollHeight));
    watcher.observe(box.current);
    return () => watcher.disconnect();
  }, []);
  const scrolled = ({target}) => {
    const up = target.scrollTop < top.current; // by the reader; when the width changes, the end moves away
    top.current = target.scrollTop;
    follows.current = at === head && (target.scrollHeight - target.scrollTop - target.clientHeight < NEAR_END_PX || (follows.current && !up));
  };
  return html`
    <section class=${`chat${children ? " room" : ""}`} aria-labelledby="chat-title">
      <h2 id="chat-title">${title}</h2>
      ${!said.length && html`<p class="quiet">Nothing was said in what is shown.</p>`}
      <ol ref=${box} onScroll=${scrolled} tabindex="0" aria-label="Messages">
        ${said.map((mark) => html`
          <${Message} key=${mark.key} mark=${mark} name=${nameOf(mark, classes)} later=${beginsAt(mark) > at} current=${mark === current}
            asked=${at === head && questions.find((one) => `said:${one.page}` === mark.key)} answering=${answering} onWhy=${onWhy} />`)}
      </ol>
      ${children}
    </section>`;
}

const isMessage = (mark) => (mark.kind === "heard" || mark.kind === "said") && mark.text;

/** The moment from which a message is there. */
const beginsAt = (mark) => mark.first ?? mark.last;

/** The latest message of a moment. */
export const saidAt = (marks, at) => marks.findLast((mark) => isMessage(mark) && beginsAt(mark) <= at);

const nameOf = (mark, classes) => (mark.kind === "heard" ? mark.name : mark.lane === "session" ? "Parley" : classes.get(mark.lane) ?? mark.lane);

function Message({mark, name, later, current, asked, answering, onWhy}) {
  const agent = mark.kind === "said";
  const live = agent && mark.last === null;
  return html`
    <li class=${`${mark.kind}${later ? " later" : ""}${live ? " live" : ""}`} aria-current=${current ? "true" : null} aria-busy=${live ? "true" : null}>
      <span class=${`face${agent ? " agent" : ""}`} style=${{"--hue": hueOf(lookKey(name, name, agent ? "agent" : "person"))}} aria-hidden="true">${initials(name)}</span>
      <div>
        <p class="by"><b dir="auto">${name}</b>
          <time class="quiet" datetime=${mark.at}>${time(mark.at)}</time>
          <button title=${agent ? "What led to these words" : "The variables and entries of this moment"} onClick=${() => onWhy(beginsAt(mark))}>${agent ? "Why?" : "Go here"}</button></p>
        <${Words} text=${mark.text} live=${live} />
        ${asked && login.value.acts ? html`<${Answers} asked=${asked} answering=${answering} />`
          : mark.chosen ? html`<p class="quiet">${mark.chosen}</p>`
          : mark.options?.length ? html`<p class="quiet">Choices: ${mark.options.join(", ")}</p>` : ""}
      </div>
    </li>`;
}

/** A text as the chat draws it. */
function Words({text, live}) {
  const body = useRef(null);
  useLayoutEffect(() => {
    body.current.replaceChildren(rendered(text));
    for (const link of body.current.querySelectorAll('a[href^="#"]')) { // a place in the chat
      link.target = "_blank";
      link.setAttribute("href", `/${link.getAttribute("href")}`);
    }
    if (!live) colorCode(body.current);
  }, [text, live]);
  return html`<div class="body" dir="auto" ref=${body}></div>`;
}

function Answers({asked, answering}) {
  if (!asked.options.length) return null; // it is answered in words
  if (!answering(asked, 0)) return html`<p class="quiet">Only ${asked.of.map((one) => one.name).join(", ")} can answer: ${asked.options.join(", ")}</p>`;
  return html`
    <div class="buttons" role="group" aria-label="Answers">
      ${asked.options.map((option, number) => {
        const {path, body, done} = answering(asked, number);
        return html`<${Act} key=${option} label=${option} about=${`to ${asked.text.slice(0, 80)}`} path=${path} body=${body} done=${done} />`;
      })}
    </div>`;
}
