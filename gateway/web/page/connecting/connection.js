/** The WebSocket. It reconnects on its own: within 2 seconds in the first minutes, then at longer intervals, and at
 * once when the person does something. */

const FIRST_DELAY_MS = 400;
const SOON_MS = 1_500;
const LONGEST_DELAY_MS = 15_000;
const SOON_FOR_MS = 5 * 60_000;
const AT_MOST_EVERY_MS = 1_000;
const PING_EVERY_MS = 20_000;
const ANSWER_WITHIN_MS = 8_000;
const OPEN_WITHIN_MS = 10_000;
const CALMER_DELAY_MS = 5_000;
const WHO_ARE_YOU = 4401;
const TOO_MUCH = 1008;
const TOO_MANY_PAGES = 4429;

export class Connection {
  /** `on` has `frame(data)`, `state("open" | "lost" | "offline" | "refused", reason?)` and `stranger()`. */
  constructor(on) {
    this.on = on;
    this.socket = null;
    this.delay = FIRST_DELAY_MS;
    this.stopped = true;
    this.lostAt = Date.now();
    this.triedAt = 0;
    window.addEventListener("online", () => this.now());
    for (const act of ["focus", "keydown", "pointerdown"]) window.addEventListener(act, () => this.soon());
    window.addEventListener("offline", () => this.drop());
    document.addEventListener("visibilitychange", () => {
      if (document.visibilityState === "visible") this.socket ? this.ping() : this.now();
    });
  }

  start() {
    this.stopped = false;
    this.now();
  }

  /** Reconnect as another person. */
  restart() {
    this.forget();
    this.start();
  }

  /** Try to connect at once. */
  now() {
    if (this.stopped || this.socket) return;
    clearTimeout(this.timer);
    this.open();
  }

  /** Try to connect, unless that was tried just now: the person is here. */
  soon() {
    if (!this.refused && Date.now() - this.triedAt >= AT_MOST_EVERY_MS) this.now();
  }

  get ready() {
    return this.socket?.readyState === WebSocket.OPEN;
  }

  /** Send a frame; false when there is no connection, which is then looked for. */
  send(data) {
    if (!this.ready) {
      this.soon();
      return false;
    }
    this.socket.send(JSON.stringify(data));
    return true;
  }

  open() {
    const scheme = location.protocol === "https:" ? "wss" : "ws";
    const socket = new WebSocket(`${scheme}://${location.host}/ws`);
    this.socket = socket;
    this.triedAt = Date.now();
    this.deadline = setTimeout(() => this.drop(), OPEN_WITHIN_MS);
    socket.addEventListener("open", () => {
      clearTimeout(this.deadline);
      this.beat = setInterval(() => this.ping(), PING_EVERY_MS);
    });
    socket.addEventListener("message", (event) => {
      if (socket !== this.socket) return;
      clearTimeout(this.deadline);
      const data = JSON.parse(event.data);
      if (data.t === "welcome") {
        this.delay = FIRST_DELAY_MS;
        this.lostAt = null;
        this.refused = false;
        this.on.state("open");
      }
      this.on.frame(data);
    });
    socket.addEventListener("close", (event) => {
      if (socket === this.socket) this.lost(event.code, event.reason);
    });
  }

  ping() {
    if (!this.send({ t: "ping" })) return;
    clearTimeout(this.deadline);
    this.deadline = setTimeout(() => this.drop(), ANSWER_WITHIN_MS);
  }

  /** Treat the connection as dead, even if the browser does not. */
  drop() {
    if (this.socket) this.lost(0);
  }

  forget() {
    clearTimeout(this.deadline);
    clearTimeout(this.timer);
    clearInterval(this.beat);
    const socket = this.socket;
    this.socket = null;
    socket?.close();
  }

  lost(code, reason) {
    this.forget();
    if (code === WHO_ARE_YOU) {
      this.stopped = true;
      this.on.stranger();
      return;
    }
    this.refused = code === TOO_MANY_PAGES;
    this.lostAt ??= Date.now();
    const longest = Date.now() - this.lostAt < SOON_FOR_MS ? SOON_MS : LONGEST_DELAY_MS;
    if (this.refused) {
      this.delay = LONGEST_DELAY_MS;
      this.on.state("refused", reason);
    } else {
      this.delay = code === TOO_MUCH ? CALMER_DELAY_MS : Math.min(this.delay, longest);
      this.on.state(navigator.onLine ? "lost" : "offline");
    }
    this.timer = setTimeout(() => this.now(), this.delay * (0.7 + 0.6 * Math.random()));
    this.delay *= 2;
  }
}
