// People and spending: who has which role, and what models cost.

import UPlot from "../vendor/uplot.js";

import {get, session} from "../api.js";
import {Roles} from "../deciding/roles.js";
import {useLive} from "../live.js";
import {Rows} from "../table.js";
import {html, useEffect, useRef, useState} from "../ui.js";
import {count, dollars, plural, programNamed} from "../words.js";

const DAYS = 30;

export function People({query}) {
  return html`
    <h1>People and spending</h1>
    <${Spending} />
    <${Roles} person=${query.get("person") ?? ""} />`;
}

function Spending() {
  const groups = ["program", "agent", "model", "purpose", ...(session.value.words ? ["person"] : [])];
  const [by, setBy] = useState("program");
  const {found, trouble} = useLive(async () => {
    const [each, grouped] = await Promise.all([
      get("/bus/v1/usage", {by: "day", days: DAYS}), get("/bus/v1/usage", {by, days: DAYS}),
    ]);
    return {days: each, sums: grouped};
  }, [by]);
  const {days, sums} = found ?? {};
  return html`
    <section aria-labelledby="spending">
      <h2 id="spending">Spending in ${DAYS} days</h2>
      ${trouble && html`<p class="trouble" role="alert">${trouble}</p>`}
      ${days && html`<p><b>${dollars(days.all.usd, days.all.unpriced)}</b> for ${plural(days.all.answers, "answer")}, ${count(days.all.tokens_in)} tokens in,
        ${" "}${count(days.all.tokens_out)} out. <span class="quiet">Days are those of UTC.</span></p>`}
      ${days?.sums.some((one) => one.usd) ? html`<${Chart} sums=${days.sums} />` : days && !days.sums.length && html`<p class="quiet">No model answered in this period.</p>`}
      ${sums && sums.sums.length > 0 && html`
        <label class="check">By <select value=${by} onChange=${(event) => setBy(event.target.value)}>
          ${groups.map((one) => html`<option key=${one} value=${one}>${one}</option>`)}</select></label>
        <${Rows} title=${`Spending by ${by}`} rows=${sums.sums} keyOf=${(one) => one.name} columns=${[
          [by, (one) => programNamed(one.name) || "?", (one) => programNamed(one.name)],
          ["US dollars", (one) => dollars(one.usd, one.unpriced), (one) => one.usd],
          ["Answers", (one) => count(one.answers), (one) => one.answers],
          ["Tokens in", (one) => count(one.tokens_in), (one) => one.tokens_in],
          ["Tokens out", (one) => count(one.tokens_out), (one) => one.tokens_out],
        ]} />`}
    </section>`;
}

/** Dollars by day, drawn; the same is in the text beside it. */
function Chart({sums}) {
  const box = useRef(null);
  const text = JSON.stringify(sums);
  useEffect(() => {
    const own = box.current;
    const style = getComputedStyle(document.documentElement);
    const colour = (name) => style.getPropertyValue(name).trim();
    const axis = {stroke: colour("--quiet"), grid: {stroke: colour("--line"), width: 1}, ticks: {stroke: colour("--line")}};
    const days = new Map(sums.map((one) => [Date.parse(`${one.name}T00:00:00Z`) / 1000, one.usd]));
    const today = Math.floor(Date.now() / 86_400_000) * 86_400;
    const times = Array.from({length: DAYS}, (_, back) => today - (DAYS - 1 - back) * 86_400);
    const options = {
      width: own.clientWidth, height: 180, legend: {show: false}, cursor: {show: false},
      tzDate: (seconds) => UPlot.tzDate(new Date(seconds * 1000), "UTC"),
      axes: [axis, {...axis, size: 64, values: (_, ticks) => ticks.map((tick) => `$${tick}`)}],
      series: [{}, {stroke: colour("--accent"), fill: colour("--accent-soft"), paths: UPlot.paths.bars({size: [0.7, 40]}), points: {show: false}}],
      scales: {y: {range: (_, low, high) => [0, high || 1]}},
    };
    const drawn = new UPlot(options, [times, times.map((at) => days.get(at) ?? 0)], own);
    const watcher = new ResizeObserver(() => drawn.setSize({width: own.clientWidth, height: 180}));
    watcher.observe(own);
    return () => {
      watcher.disconnect();
      drawn.destroy();
    };
  }, [text]);
  const words = sums.map((one) => `${one.name}: ${dollars(one.usd, one.unpriced)}`).join(", ");
  return html`<div class="chart" ref=${box} role="img" aria-label=${`Dollars by day. ${words}`}></div>`;
}
