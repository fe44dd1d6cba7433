/** A voice note, recorded in the browser: the field gives way to a clock, and the recording is sent as a file. */

import { el, icon, ICONS } from "../look.js";

const KINDS = [["audio/webm;codecs=opus", "webm"], ["audio/ogg;codecs=opus", "ogg"], ["audio/mp4", "m4a"]];
const BITS_PER_SECOND = 32_000;
const TICK_MS = 200;

const REFUSALS = {
  NotAllowedError: "The microphone is blocked. Allow it for this page in the browser, and try again.",
  NotFoundError: "There is no microphone.",
  NotReadableError: "The microphone is in use by another program, or cannot be read.",
};

/** Whether this browser can record here; without https it may not, except on this machine. */
export const canRecord = () => Boolean(navigator.mediaDevices?.getUserMedia && window.MediaRecorder && kind());

const kind = () => KINDS.find(([type]) => MediaRecorder.isTypeSupported(type));

export class Recorder {
  /** `done(file, send)` is called with the recording, `send` unless it was cut off at the limit; `complain(text)` says
   * why there is none; `changed()` when recording begins or ends. */
  constructor({ done, complain, changed }) {
    this.done = done;
    this.complain = complain;
    this.changed = changed;
    this.maxSeconds = 0;
    this.attempt = null;
    this.button = el("button", { type: "button", class: "icon attach record", "aria-label": "Record a voice note", title: "Record a voice note", hidden: true }, icon(ICONS.mic));
    this.clock = el("span", { class: "record-clock" });
    this.told = el("span", { class: "unseen", role: "status" });
    this.cancel = el("button", { type: "button", class: "icon", "aria-label": "Discard the recording", title: "Discard the recording" }, icon(ICONS.bin));
    this.finish = el("button", { type: "button", class: "send", "aria-label": "Send the recording", title: "Send the recording" }, icon(ICONS.send));
    this.bar = el("div", { class: "recording", role: "group", "aria-label": "Voice note", hidden: true }, this.cancel, el("i", { class: "record-dot" }), this.clock, this.finish);
    this.button.addEventListener("click", () => this.begin());
    this.cancel.addEventListener("click", () => this.leave());
    this.finish.addEventListener("click", () => this.end(true));
    this.bar.addEventListener("keydown", (event) => {
      if (event.key !== "Escape") return;
      event.preventDefault();
      event.stopPropagation();
      this.leave();
    });
  }

  get active() {
    return this.attempt !== null;
  }

  /** Recordings may last so many seconds; 0 for none. */
  limit(seconds) {
    this.maxSeconds = seconds;
    this.button.hidden = !seconds || !canRecord();
  }

  async begin() {
    if (this.active) return;
    const attempt = { recorder: null, stream: null, pieces: [], begun: 0, timer: 0, sends: false };
    this.attempt = attempt;
    this.clock.textContent = "Waiting for the microphone…";
    this.finish.disabled = true;
    this.show();
    try {
      attempt.stream = await navigator.mediaDevices.getUserMedia({ audio: { channelCount: 1, echoCancellation: true, noiseSuppression: true } });
    } catch (error) {
      if (this.attempt !== attempt) return;
      this.leave();
      this.complain(REFUSALS[error.name] ?? "The microphone cannot be used.");
      return;
    }
    if (this.attempt !== attempt) release(attempt); // discarded meanwhile
    else this.record(attempt);
  }

  record(attempt) {
    const [type, ending] = kind();
    attempt.recorder = new MediaRecorder(attempt.stream, { mimeType: type, audioBitsPerSecond: BITS_PER_SECOND });
    attempt.recorder.addEventListener("dataavailable", (event) => attempt.pieces.push(event.data));
    attempt.recorder.addEventListener("stop", () => this.stopped(attempt, type, ending));
    attempt.recorder.addEventListener("error", () => this.broken(attempt));
    attempt.recorder.start(1000);
    attempt.begun = performance.now();
    attempt.timer = setInterval(() => this.tick(attempt), TICK_MS);
    this.finish.disabled = false;
    this.told.textContent = "Recording.";
    this.tick(attempt);
    this.finish.focus();
  }

  tick(attempt) {
    const seconds = Math.floor((performance.now() - attempt.begun) / 1000);
    this.clock.textContent = `${clockText(seconds)} / ${clockText(this.maxSeconds)}`;
    if (seconds >= this.maxSeconds) this.end(false);
  }

  /** End the recording: `sends` as the person wants, or at the limit, where they decide about it. */
  end(sends) {
    const { attempt } = this;
    if (attempt?.recorder?.state !== "recording") return;
    attempt.sends = sends;
    attempt.recorder.stop();
  }

  stopped(attempt, type, ending) {
    release(attempt);
    if (this.attempt !== attempt) return;
    const [media] = type.split(";");
    const file = new File(attempt.pieces, `Voice note.${ending}`, { type: media });
    this.leave();
    if (!file.size) return this.complain("Nothing was recorded.");
    this.done(file, attempt.sends);
    if (!attempt.sends) this.complain(`The recording has reached its limit of ${clockText(this.maxSeconds)}. Send it, or remove it.`);
  }

  broken(attempt) {
    if (this.attempt !== attempt) return release(attempt);
    this.leave();
    this.complain("The recording broke off.");
  }

  /** Back to the field; what was recorded is gone. */
  leave() {
    const { attempt } = this;
    if (attempt === null) return;
    this.attempt = null;
    release(attempt);
    this.told.textContent = "";
    this.show();
  }

  show() {
    this.bar.hidden = !this.active;
    this.changed();
    if (this.active) this.cancel.focus();
  }
}

function release(attempt) {
  clearInterval(attempt.timer);
  if (attempt.recorder?.state === "recording") attempt.recorder.stop();
  for (const track of attempt.stream?.getTracks() ?? []) track.stop();
}

const clockText = (seconds) => `${Math.floor(seconds / 60)}:${String(seconds % 60).padStart(2, "0")}`;
