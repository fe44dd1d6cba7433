/** The board beside the chat: the step that runs now with its variables, and what is wrong with the program. */

function make(tag, { text, ...rest } = {}, ...children) {
  const node = Object.assign(document.createElement(tag), rest);
  if (text !== undefined) node.textContent = text;
  node.append(...children);
  return node;
}

const openRoom = () => decodeURIComponent(location.hash.slice(1).split("/")[0]) || "lobby";
const KEPT = "parley-dev-board";

class Board {
  constructor() {
    this.view = { problems: [], sessions: [], anew: false };
    this.sources = new Map();
    this.before = new Map();
    this.hiddenProblems = "";
    this.build();
    this.listen();
    addEventListener("hashchange", () => this.listen());
    this.toggle(localStorage.getItem(KEPT) !== "hidden" && innerWidth > 900);
  }

  build() {
    this.anew = make("input", { type: "checkbox" });
    this.anew.addEventListener("change", () => this.send(this.anew.checked ? "yes" : "no"));
    const now = make("button", { type: "button", text: "Begin anew", title: "End the conversations of these programs, and start others" });
    now.addEventListener("click", () => this.send("now"));
    const hide = make("button", { type: "button", text: "Hide" });
    hide.addEventListener("click", () => this.toggle(false));
    this.agents = make("div", { className: "scroll", tabIndex: 0 });
    this.agents.setAttribute("aria-label", "Agents");
    this.program = make("pre", { className: "program", tabIndex: 0 });
    this.program.setAttribute("aria-label", "Program");
    this.board = make("aside", { className: "board" },
      make("header", {}, make("h2", { text: "Program" }), now, hide),
      make("header", {}, make("label", {}, this.anew, "Begin anew when I save")),
      this.agents, this.program);
    this.board.setAttribute("aria-label", "Program that runs");
    this.show = make("button", { type: "button", className: "board-show", text: "Program" });
    this.show.addEventListener("click", () => this.toggle(true));
    this.overlay = make("section", { className: "overlay", hidden: true });
    this.overlay.setAttribute("role", "alert");
    document.body.append(this.board, this.show, this.overlay);
  }

  toggle(shown) {
    this.board.hidden = !shown;
    this.show.hidden = shown;
    document.body.classList.toggle("with-board", shown);
    localStorage.setItem(KEPT, shown ? "shown" : "hidden");
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
    this.anew.checked = view.anew;
    this.showProblems();
    this.showAgents();
    this.showProgram();
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
    const warnings = this.view.problems.filter((one) => one.severity !== "error");
    const list = [];
    for (const session of this.view.sessions) {
      if (session.ended) continue;
      for (const agent of session.agents) list.push(this.agentView(session, agent));
    }
    if (!list.length) list.push(make("p", { className: "nothing", text: "Nothing runs here. Say something to begin." }));
    if (warnings.length) {
      list.push(make("div", { className: "warnings" }, make("h3", { text: "Warnings" }), ...warnings.map((one) => make("pre", { text: one.text }))));
    }
    this.agents.replaceChildren(...list);
  }

  agentView(session, agent) {
    const state = agent.waits ? "waits" : agent.stack.length ? "works" : "rests";
    const where = session.thread ? ", in a thread" : "";
    const stack = agent.stack.map((entry) =>
      make("li", {}, make("small", { text: `${entry.playbook}${entry.step ? `:${entry.step}` : ""} ` }), entry.text));
    const innermost = agent.stack[0];
    const values = { ...(innermost?.arguments ?? {}), ...agent.variables };
    const rows = Object.entries(values).map(([name, value]) => {
      const key = `${session.thread} ${agent.id} ${name}`;
      const fresh = this.before.get(key) !== value;
      this.before.set(key, value);
      return make("tr", {}, make("td", { text: name }), make("td", { text: value, className: fresh ? "new" : "" }));
    });
    return make("div", { className: "agent" },
      make("h3", { text: `${agent.name} (${agent.id})` }), make("p", { text: `${state}${where}` }),
      make("ol", { className: "stack" }, ...stack), make("table", {}, make("tbody", {}, ...rows)));
  }

  /** The program's text, with the steps that run now marked. */
  async showProgram() {
    const entries = this.view.sessions.filter((one) => !one.ended).flatMap((one) => one.agents.flatMap((agent) => agent.stack));
    const file = entries.find((entry) => entry.file)?.file ?? (this.view.problems[0]?.file || this.file || this.view.file);
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
      this.program.replaceChildren(...lines);
    }
    const lines = this.program.children;
    const now = new Set(entries.filter((entry) => entry.file === this.file && entry.step).map((entry) => entry.line));
    const linesWith = (severity) =>
      new Set(this.view.problems.filter((one) => one.file === this.file && one.severity === severity).map((one) => one.line));
    const wrong = linesWith("error");
    const doubtful = linesWith("warning");
    [...lines].forEach((line, index) => {
      line.classList.toggle("now", now.has(index + 1));
      line.classList.toggle("error", wrong.has(index + 1));
      line.classList.toggle("warning", doubtful.has(index + 1));
    });
    const first = lines[Math.min(...now) - 1];
    if (first && first !== this.shown) first.scrollIntoView({ block: "center" });
    this.shown = first;
  }
}

new Board();
