// What was said in one session: a field, and below it what was found.

import {Field} from "./field.js";
import {Found} from "./found.js";
import {html, useState} from "../ui.js";

export function FindHere({tape, onMoment}) {
  const [question, setQuestion] = useState("");
  return html`
    <form class="filter" role="search" onSubmit=${(event) => event.preventDefault()}>
      <${Field} value=${question} label="Find in this session" hint="Find in this session" onValue=${setQuestion} />
    </form>
    ${question && html`<div class="found-here"><${Found} question=${question} tape=${tape} onOpen=${(hit) => onMoment(hit.entry.id)} /></div>`}`;
}
