// Work: tasks in the background, meetings, and schedules with how their runs ended.

import {Act} from "../acts.js";
import {Ago} from "./now.js";
import {ACTS, SessionLink, Table} from "../table.js";
import {html} from "../ui.js";
import {exact} from "../words.js";

const OVER = new Set(["completed", "failed", "canceled", "rejected"]);

export function Work() {
  return html`
    <h1>Work</h1>
    <${Table} title="Tasks" path="/bus/v1/tasks" name="tasks" keyOf=${(one) => one.task}
      arranged=${asTree} empty="No agent has ordered a task." columns=${[
        ["Task", (one) => html`<div class="branch" style=${{"--deep": Math.min(one.deep, 8)}}><${SessionLink} session=${one.task} text=${one.does} /><br /><span class="quiet">${one.program}</span></div>`],
        ["Status", (one) => html`<span class=${`state ${one.status === "working" ? "working" : ""}`}>${one.status.replace("_", " ")}</span>${one.error && html`<br /><span class="bad">${one.error}</span>`}`],
        ["Ordered by", (one) => (one.deep ? html`<span class="quiet">the task above</span>` : `${one.ordered_by}${one.depth > 1 ? `, ${one.depth} deep` : ""}`)],
        ["Last active", (one) => html`<${Ago} at=${one.last_at} />`],
        ["Result", (one) => (one.value === undefined ? "" : html`<code>${JSON.stringify(one.value).slice(0, 200)}</code>`)],
        [ACTS, (one) => html`<div class="buttons">${OVER.has(one.status)
          ? html`<${Act} label="Retry" about=${one.does} path=${`/bus/v1/tasks/${one.task}/retry`} done="It is ordered again." />`
          : html`<${Act} label="Cancel" about=${one.does} danger path=${`/bus/v1/tasks/${one.task}/cancel`}
              question="The task ends, with all tasks that it has ordered." done="The task is to end." />`}</div>`],
      ]} />
    <${Table} title="Meetings" path="/bus/v1/meetings" name="meetings" keyOf=${(one) => one.meeting}
      empty="There are no meetings in the sessions that were active last." columns=${[
        ["Meeting", (one) => html`<${SessionLink} session=${one.session} text=${one.topic || "a meeting"} /><br /><span class="quiet">${one.place ?? one.conversation}</span>`],
        ["Status", (one) => html`${one.status}${one.since && html`, since <${Ago} at=${one.since} />`}`],
        ["Host", (one) => one.host],
        ["In it", (one) => html`${one.joined.join(", ") || "nobody"}${one.asked.length > 0 && html`<br /><span class="quiet">asked: ${one.asked.join(", ")}</span>`}`],
        ["They share", (one) => one.shared && Object.keys(one.shared).length > 0 && html`<dl class="values">${Object.entries(one.shared).map(([name, value]) => html`<div key=${name}><dt>${name}</dt><dd><code>${JSON.stringify(value).slice(0, 200)}</code></dd></div>`)}</dl>`],
      ]} />
    <${Table} title="Schedules" path="/bus/v1/schedules" name="schedules" keyOf=${(one) => one.schedule}
      empty="Nothing is scheduled." columns=${[
        ["Schedule", (one) => html`${one.schedule}${one.text && html`<br /><q>${one.text.slice(0, 160)}</q>`}`],
        ["When", (one) => one.when],
        ["Next", (one) => (one.paused ? html`<span class="bad">paused</span>` : exact(one.next_at))],
        ["Last runs", (one) => one.runs.length
          ? html`<ul class="runs">${one.runs.map((run, number) => html`<li key=${number} class=${run.status === "failed" ? "bad" : ""}>
              <${SessionLink} session=${run.session} text=${run.status} />${run.took_s === null ? "" : ` in ${run.took_s.toFixed(1)} s`}${run.why ? `, ${run.why}` : ""}</li>`)}</ul>`
          : html`<span class="quiet">none</span>`],
        [ACTS, (one) => html`<div class="buttons">
          <${Act} label="Run now" about=${one.schedule} path="/bus/v1/schedules/run" body=${{schedule: one.schedule}} done="It runs." />
          ${one.paused
            ? html`<${Act} key="resume" label="Resume" about=${one.schedule} path="/bus/v1/schedules/resume" body=${{schedule: one.schedule}} done="It runs at its times." />`
            : html`<${Act} key="pause" label="Pause" about=${one.schedule} path="/bus/v1/schedules/pause" body=${{schedule: one.schedule}} done="It skips its times." />`}
        </div>`],
      ]} />`;
}

/** Tasks with those that they have ordered below them, as deep as they are there; those of other orderers as they come. */
function asTree(rows) {
  const at = new Map(rows.map((row) => [row.conversation, row]));
  const below = new Map();
  for (const row of rows) {
    const key = at.has(row.ordered_by) && row.ordered_by !== row.conversation ? row.ordered_by : "";
    below.set(key, [...(below.get(key) ?? []), row]);
  }
  const branch = (key, deep) => (below.get(key) ?? []).flatMap((row) => [{...row, deep}, ...branch(row.conversation, deep + 1)]);
  return branch("", 0);
}
