/** The WebSocket. It reconnects on its own, soon at first and then at longer intervals. */

const FIRST_DELAY_MS = 400;
const LONGEST_DELAY_MS = 15_000;
const PING_EVERY_MS = 20_000;
const ANSWER_WITHIN_MS = 8_000;
const OPEN_WITHIN_MS = 10_000;
const WHO_ARE_YOU = 4401;
const TOO_MANY_PAGES = 4429;

export class Connection {
  /** `on` has `frame(data)`, `state("open" | "lost" | "offline" | "refused", reason?)` and `stranger()`. */
  constructor(on) {
    this.on = on;
    this.socket = null;
    this.delay = FIRST_DELAY_MS;
    this.stopped = true;
    window.addEventListener("online", () => this.now());
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

  get ready() {
    return this.socket?.readyState === WebSocket.OPEN;
  }

  /** Send a frame; false when there is no connection. */
  send(data) {
    if (!this.ready) return false;
    this.socket.send(JSON.stringify(data));
    return true;
  }

  open() {
    const scheme = location.protocol === "https:" ? "wss" : "ws";
    const socket = new WebSocket(`${scheme}://${location.host}/ws`);
    this.socket = socket;
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
    if (code === TOO_MANY_PAGES) {
      this.delay = LONGEST_DELAY_MS;
      this.on.state("refused", reason);
    } else this.on.state(navigator.onLine ? "lost" : "offline");
    this.timer = setTimeout(() => this.now(), this.delay * (0.7 + 0.6 * Math.random()));
    this.delay = Math.min(this.delay * 2, LONGEST_DELAY_MS);
  }
}
