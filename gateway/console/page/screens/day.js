// The last 24 hours as a picture: a row of bars for each measure, an hour a bar, the present one last.

import {session} from "../api.js";
import {html} from "../ui.js";
import {ago, count, dollars, plural, seconds} from "../words.js";

const HIGH = 44;
const WIDE = 10;
const GAP = 2;
const UNANSWERED = '"I cannot continue"'; // what people read then

const sum = (hours, name) => hours.reduce((all, one) => all + (one[name] ?? 0), 0);
const hourOf = new Intl.DateTimeFormat(undefined, {hour: "2-digit", minute: "2-digit"});

export function Day({hours}) {
  const unpriced = sum(hours, "unpriced");
  const waits = sum(hours, "waits");
  const waited = hours.reduce((all, one) => all + (one.first_text_s ?? 0) * one.waits, 0);
  const known = !unpriced || hours.some((one) => one.usd);
  return html`
    <section aria-labelledby="day-title">
      <h2 id="day-title">The last 24 hours</h2>
      <ul class="numbers day">
        <${Measure} title="messages" hours=${hours} of=${(one) => one.messages} shown=${count} value=${count(sum(hours, "messages"))} />
        <${Measure} title="answers" hours=${hours} of=${(one) => one.answers} shown=${count} value=${count(sum(hours, "answers"))} />
        <${Measure} title="failures" bad hours=${hours} of=${(one) => one.failures} shown=${count} value=${count(sum(hours, "failures"))} href="#/decisions?all=1" />
        <${Measure} title="no model answered" bad hours=${hours} of=${(one) => one.unanswered} shown=${count} value=${count(sum(hours, "unanswered"))}
          href=${session.value.words ? `#/sessions?${new URLSearchParams({in: "words", q: UNANSWERED})}` : "#/sessions"} />
        <${Measure} title="time to first character" by="" hours=${hours} of=${(one) => one.first_text_s} shown=${seconds} value=${waits ? seconds(waited / waits) : "–"} more=${waits ? "on average" : ""} />
        <${Measure} title="cost" hours=${hours} of=${(one) => one.usd} shown=${(usd) => dollars(usd)} value=${known ? dollars(sum(hours, "usd")) : "unknown"}
          more=${known && unpriced ? `${plural(unpriced, "answer")} of unknown price` : ""} href="#/people" />
      </ul>
    </section>`;
}

/** `by` is said behind the highest bar: what it is the sum of. */
function Measure({title, value, more, hours, of, shown, bad, href, by = " in an hour"}) {
  const most = Math.max(...hours.map((one) => of(one) ?? 0));
  const told = hours.filter((one) => of(one)).map((one) => `${hourOf.format(new Date(one.at))}: ${shown(of(one))}`);
  const inside = html`
    <span class="name">${title}</span><strong class=${bad && most ? "bad" : ""}>${value}</strong>
    <svg viewBox=${`0 0 ${hours.length * (WIDE + GAP) - GAP} ${HIGH}`} preserveAspectRatio="none" role="img" aria-label=${`${title} by hour. ${told.join(", ") || "None"}`}>
      ${hours.map((one, at) => {
        const high = most ? Math.max(of(one) ? 3 : 1, ((of(one) ?? 0) / most) * HIGH) : 1;
        return html`<rect key=${one.at} class=${of(one) ? (bad ? "bar bad" : "bar") : "none"} x=${at * (WIDE + GAP)} y=${HIGH - high} width=${WIDE} height=${high}>
          <title>${`${hourOf.format(new Date(one.at))}: ${shown(of(one))}`}</title></rect>`;
      })}
    </svg>
    <span class="axis" aria-hidden="true"><span>${ago(hours[0].at)}</span><span>now</span></span>
    <span class="quiet">${[more, most ? `up to ${shown(most)}${by}` : "none"].filter(Boolean).join(", ")}</span>`;
  return html`<li>${href ? html`<a href=${href}>${inside}</a>` : html`<div>${inside}</div>`}</li>`;
}
