/** The board beside the chat: the step that runs now with its variables, and what is wrong with the program. */

import { copyText, icon } from "/assets/look.js";

function make(tag, { text, ...rest } = {}, ...children) {
  const node = Object.assign(document.createElement(tag), rest);
  if (text !== undefined) node.textContent = text;
  node.append(...children);
  return node;
}

const PHONE = matchMedia("(max-width: 900px)");
const STEP_MS = 350; // a step is marked so long, however fast it ran

const openRoom = () => decodeURIComponent(location.hash.slice(1).split("/")[0]) || "lobby";
const KEPT = "parley-dev-board";

class Board {
  constructor() {
    this.view = { problems: [], sessions: [], anew: false };
    this.sources = new Map();
    this.before = new Map();
    this.ran = null; // the number of the newest step that is known; the steps before the page are not played again
    this.queue = [];
    this.hiddenProblems = "";
    this.build();
    this.listen();
    addEventListener("hashchange", () => this.listen());
    addEventListener("popstate", ({ state }) => this.entered && !state?.board && !state?.over && this.toggle((this.entered = false)));
    this.toggle(false);
  }

  build() {
    this.anew = make("input", { type: "checkbox" });
    this.anew.addEventListener("change", () => this.send(this.anew.checked ? "yes" : "no"));
    const now = make("button", { type: "button", text: "Begin anew", title: "End the conversations of these programs, and start others" });
    now.addEventListener("click", () => this.send("now"));
    const hide = make("button", { type: "button", text: "Hide" });
    hide.addEventListener("click", () => this.choose(false));
    this.own = make("button", { type: "button", text: "Make your own", hidden: true });
    this.own.addEventListener("click", () => this.offerOwn());
    this.controls = [now, make("header", {}, make("label", {}, this.anew, "Begin anew when I save"))];
    this.agents = make("div", { className: "scroll", tabIndex: 0 });
    this.agents.setAttribute("aria-label", "Agents");
    this.warnings = make("div", { className: "scroll warnings", tabIndex: 0, hidden: true });
    this.warnings.setAttribute("aria-label", "Warnings");
    this.program = make("pre", { className: "program", tabIndex: 0 });
    this.program.setAttribute("aria-label", "Program");
    this.board = make("aside", { className: "board" },
      make("header", {}, make("h2", { text: "Program" }), this.own, now, hide), this.controls[1],
      this.agents, this.warnings, this.program);
    this.board.setAttribute("aria-label", "Program that runs");
    this.show = make("button", { type: "button", className: "icon", title: "See the program" });
    this.show.setAttribute("aria-label", "See the program");
    this.show.append(icon("M7 6l-4 4l4 4M13 6l4 4l-4 4"));
    this.show.addEventListener("click", () => this.choose(this.board.hidden));
    document.getElementById("room-people").before(this.show);
    this.overlay = make("section", { className: "overlay", hidden: true });
    this.overlay.setAttribute("role", "alert");
    this.show.closest("header").after(this.overlay);
    document.body.append(this.board);
  }

  /** On a phone it covers the chat: the way back closes it. */
  toggle(shown) {
    if (PHONE.matches && shown !== Boolean(this.entered)) {
      if (shown) history.pushState({ board: true }, "");
      else history.back();
      this.entered = shown;
    }
    this.board.hidden = !shown;
    this.show.setAttribute("aria-expanded", String(shown));
    document.body.classList.toggle("with-board", shown);
  }

  /** Show or hide it as the person wants, also after a reload. */
  choose(shown) {
    localStorage.setItem(KEPT, shown ? "shown" : "hidden");
    this.toggle(shown);
    this.leaves = false;
  }

  /** The first news: in the tour the board comes with the first step that runs, else with the page. */
  begin({ tour, ran }) {
    const kept = localStorage.getItem(KEPT);
    this.ran = ran.at(-1)?.[0] ?? 0;
    this.board.classList.toggle("tour", tour);
    for (const each of this.controls) each.hidden = tour;
    if (tour ? kept === "shown" : kept !== "hidden" && !PHONE.matches) this.toggle(true);
    if (!tour) return;
    this.mayMakeOwn();
    addEventListener("parley-standing", () => this.mayMakeOwn()); // who becomes an owner may, at once
  }

  send(anew) {
    return fetch("/dev/anew", { method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify({ anew }) });
  }

  listen() {
    this.stream?.close();
    this.stream = new EventSource(`/dev/news?room=${encodeURIComponent(openRoom())}`);
    this.stream.addEventListener("message", (event) => this.take(JSON.parse(event.data)));
  }

  take(view) {
    this.view = view;
    if (this.ran === null) this.begin(view);
    const fresh = view.ran.filter(([number]) => number > this.ran);
    if (fresh.length && view.tour && this.board.hidden && localStorage.getItem(KEPT) !== "hidden") {
      this.toggle(true);
      this.leaves = PHONE.matches; // it covers half of the chat there
    }
    this.ran = fresh.at(-1)?.[0] ?? this.ran;
    this.queue.push(...fresh);
    this.anew.checked = view.anew;
    this.showProblems();
    this.showAgents();
    this.showProgram().then(() => this.play());
  }

  /** Mark the steps that have run one after the other, each for a moment, then those that run or wait now. */
  play() {
    if (this.playing) return;
    const [step] = this.queue.splice(0, 1);
    if (!step || this.board.hidden) {
      this.queue = [];
      const standing = this.standing();
      if (this.leaves && !standing.length) this.toggle(false); // it came by itself, and nothing runs any more
      return this.mark(standing);
    }
    const [, file, line] = step;
    if (file === this.file) this.mark([line]);
    this.playing = setTimeout(() => {
      this.playing = null;
      this.play();
    }, STEP_MS);
  }

  showProblems() {
    const errors = this.view.problems.filter((one) => one.severity === "error");
    const text = errors.map((one) => one.text).join("\n\n");
    if (!text) this.hiddenProblems = "";
    this.overlay.hidden = !text || text === this.hiddenProblems;
    if (this.overlay.hidden) return;
    const close = make("button", { type: "button", text: "Hide" });
    close.addEventListener("click", () => {
      this.hiddenProblems = text;
      this.overlay.hidden = true;
    });
    const head = errors.length === 1 ? "The program has an error" : `The program has ${errors.length} errors`;
    this.overlay.replaceChildren(
      make("header", {}, make("h2", { text: head }), close),
      make("p", { text: "The chat continues with the earlier program. Correct the file and save it." }),
      make("pre", { text }));
  }

  showAgents() {
    const told = this.view.problems.filter((one) => one.severity !== "error");
    const list = [];
    for (const session of this.view.sessions) {
      if (session.ended) continue;
      for (const agent of session.agents) if (!this.view.tour || agent.stack.some((entry) => entry.step)) list.push(this.agentView(session, agent));
    }
    if (!list.length) list.push(make("p", { className: "nothing", text: this.view.tour ? "No step runs now. Choose Program in the chat." : "Nothing runs here. Say something to begin." }));
    this.warnings.hidden = !told.length;
    this.warnings.replaceChildren(...[["Failed", (one) => one.severity === "failure"], ["Warnings", (one) => one.severity !== "failure"]].flatMap(([title, of]) => {
      const rows = told.filter(of).map((one) => make("p", { text: `${one.file.split("/").at(-1)}, line ${one.line}: ${one.message}. ${one.hint ?? ""}` }));
      return rows.length ? [make("h3", { text: title }), ...rows] : [];
    }));
    this.agents.replaceChildren(...list);
  }

  agentView(session, agent) {
    const state = agent.waits ? "waits" : agent.stack.length ? "works" : "rests";
    const where = session.thread ? ", in a thread" : "";
    const stack = agent.stack.map((entry) =>
      make("li", { title: `${entry.playbook}${entry.step ? `:${entry.step}` : ""}` }, make("small", { text: `${entry.playbook} ` }), entry.text));
    const innermost = agent.stack[0];
    const values = { ...(innermost?.arguments ?? {}), ...agent.variables };
    const told = Object.entries(values).filter(([name, value]) => name !== "startup_message" || value !== '""');
    const rows = told.map(([name, value]) => {
      const key = `${session.thread} ${agent.id} ${name}`;
      const fresh = this.before.get(key) !== value;
      this.before.set(key, value);
      return make("tr", {}, make("td", { text: name }), make("td", { text: value, className: fresh ? "new" : "" }));
    });
    const { tour } = this.view;
    return make("div", { className: "agent" },
      make("h3", { text: tour ? `${agent.name} ${state}` : agent.name }),
      ...(tour ? [] : [make("p", { text: `${state}${where}` }), make("ol", { className: "stack" }, ...stack)]), make("table", {}, make("tbody", {}, ...rows)));
  }

  /** The steps that run or wait now. */
  get entries() {
    return this.view.sessions.filter((one) => !one.ended).flatMap((one) => one.agents.flatMap((agent) => agent.stack));
  }

  standing() {
    return this.entries.filter((entry) => entry.file === this.file && entry.step).map((entry) => entry.line);
  }

  /** The program's text, with what is wrong in it marked. */
  async showProgram() {
    const file = this.entries.find((entry) => entry.file)?.file ?? (this.view.problems[0]?.file || this.file || this.view.file);
    if (!file) return;
    const stamp = JSON.stringify([file, this.view.reads]);
    if (stamp !== this.stamp) {
      this.stamp = stamp;
      this.file = file;
      const answer = await fetch(`/dev/source?file=${encodeURIComponent(file)}`);
      if (this.stamp !== stamp) return;
      if (!answer.ok) {
        this.stamp = null; // with the next news
        return;
      }
      const lines = (await answer.text()).split("\n").map((text) => make("div", { text }));
      lines.forEach((line, index) => (line.dataset.line = index + 1));
      if (this.view.tour) foldPython(lines);
      this.program.replaceChildren(...lines);
    }
    const linesWith = (...severities) =>
      new Set(this.view.problems.filter((one) => one.file === this.file && severities.includes(one.severity)).map((one) => one.line));
    const wrong = linesWith("error", "failure");
    const doubtful = linesWith("warning");
    [...this.program.children].forEach((line, index) => {
      line.classList.toggle("error", wrong.has(index + 1));
      line.classList.toggle("warning", doubtful.has(index + 1));
    });
  }

  /** Mark these lines as the ones that run. Those that ran before fade. */
  mark(numbers) {
    const lines = this.program.children;
    const now = new Set(numbers);
    [...lines].forEach((line, index) => {
      if (line.classList.contains("now") && !now.has(index + 1)) {
        line.classList.remove("ran");
        void line.offsetWidth; // so that it fades again
        line.classList.add("ran");
      }
      line.classList.toggle("now", now.has(index + 1));
    });
    const first = now.size ? lines[Math.min(...now) - 1] : this.program.querySelector(".error");
    if (first && first !== this.shown) first.scrollIntoView({ block: "center" });
    this.shown = first;
  }

  // A program of one's own

  async mayMakeOwn() {
    const answer = await fetch("/dev/own");
    this.templates = answer.ok ? (await answer.json()).templates : []; // none for who may make none
    this.own.hidden = !this.templates.length;
  }

  offerOwn() {
    const said = make("p", { text: "Choose one that works, and change its sentences. It is written into a folder where Parley runs." });
    said.setAttribute("role", "status");
    const list = make("ul", { className: "templates" });
    const close = make("button", { type: "button", text: "Close" });
    const dialog = make("dialog", { className: "panel" }, make("header", {}, make("h1", { id: "own-title", text: "A program of your own" }), close), said, list);
    dialog.setAttribute("aria-labelledby", "own-title");
    close.addEventListener("click", () => dialog.close());
    dialog.addEventListener("close", () => dialog.remove());
    const take = async (template) => {
      const body = JSON.stringify({ template });
      const { command, error } = await fetch("/dev/own", { method: "POST", headers: { "content-type": "application/json" }, body })
        .then((answer) => answer.json())
        .catch(() => ({ error: "Not connected. Try again in a moment." }));
      said.textContent = error ?? "It is written. This line, in a terminal, opens it beside a chat:";
      if (error) return;
      const copy = make("button", { type: "button", text: "Copy" });
      copy.addEventListener("click", () => copyText(command, copy));
      list.replaceChildren(make("li", { className: "command" }, make("code", { text: command }), copy));
      copy.focus();
    };
    list.append(...this.templates.map(({ name, what }) => {
      const button = make("button", { type: "button" }, make("strong", { text: name }), ` ${what}`);
      button.addEventListener("click", () => take(name));
      return make("li", {}, button);
    }));
    document.body.append(dialog);
    dialog.showModal();
  }
}

/** Show Python only when it is asked for: the program is what stands in English. */
function foldPython(lines) {
  let fold = null;
  for (const line of lines) {
    const [, fence, language] = /^(`{3,})(\w*)$/.exec(line.textContent) ?? [];
    if (fold) {
      fold.lines.push(line);
      line.hidden = true;
      if (fence === fold.fence && !language) fold = null;
    } else if (language === "python") {
      const { lines: mine } = (fold = { fence, lines: [] });
      const button = make("button", { type: "button", text: "Python …", ariaExpanded: "false" });
      button.addEventListener("click", () => {
        const shown = button.ariaExpanded === "true";
        button.ariaExpanded = String(!shown);
        for (const each of mine) each.hidden = shown;
      });
      line.replaceChildren(button);
    }
  }
}

new Board();
