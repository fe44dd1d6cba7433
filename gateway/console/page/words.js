// Times, numbers and names as people read them.

const clock = new Intl.DateTimeFormat(undefined, {hour: "2-digit", minute: "2-digit", second: "2-digit"});
const day = new Intl.DateTimeFormat(undefined, {year: "numeric", month: "short", day: "numeric"});

/** How long ago something was, in short. */
export function ago(text, now = Date.now()) {
  if (!text) return "never";
  const seconds = Math.max(0, Math.round((now - Date.parse(text)) / 1000));
  if (seconds < 5) return "now";
  if (seconds < 60) return `${seconds} s ago`;
  if (seconds < 3600) return `${Math.floor(seconds / 60)} min ago`;
  if (seconds < 86_400) return `${Math.floor(seconds / 3600)} h ago`;
  return day.format(new Date(text));
}

/** A date and a time to the second. */
export function exact(text) {
  const at = new Date(text);
  return `${day.format(at)}, ${clock.format(at)}`;
}

export const time = (text) => clock.format(new Date(text));

export const count = (number) => (number ?? 0).toLocaleString();

/** A cost in US dollars, null for one that nobody knows; it is without those of `unknown` answers. */
export function dollars(usd, unknown = 0) {
  if (usd === null || usd === undefined) return "price unknown";
  const known = usd && usd < 0.00005 ? "under $0.0001" : `$${usd.toFixed(usd && usd < 1 ? 4 : 2)}`;
  return unknown > 0 ? `${known}, ${count(unknown)} of unknown price` : known;
}

const FAILED = {
  UnknownTarget: "Nothing and nobody has this name",
  PlaybookError: "A step could not be executed",
  ZeroDivisionError: "A number was divided by zero",
  NameError: "A name is not known",
  KeyError: "An entry is missing",
  ValueError: "A value does not fit",
  TypeError: "A value is of another kind",
};

/** What went wrong, in words, by the type of an error. */
export const failed = (type) => FAILED[type] ?? type.replace(/(?<=\p{Ll})(?=\p{Lu})/gu, " ").replace(/ Error$/, "").replace(/(?<=.)\p{Lu}(?=\p{Ll})/gu, (one) => one.toLowerCase());

/** A program as owners know it: the one that looks into failures is Parley's own. */
export const programNamed = (name) => (name === "parley-debug" ? "Parley, about failures" : name);

export function size(bytes) {
  if (bytes < 1024) return `${bytes} B`;
  if (bytes < 1024 * 1024) return `${(bytes / 1024).toFixed(0)} KiB`;
  return `${(bytes / 1024 / 1024).toFixed(1)} MiB`;
}

/** Have a box show one of its parts, and nothing else move. */
export function bringIntoView(box, part) {
  if (!box || !part) return;
  const top = part.offsetTop - box.offsetTop;
  if (top < box.scrollTop || top + part.offsetHeight > box.scrollTop + box.clientHeight) {
    box.scrollTop = top - box.clientHeight / 2;
  }
}

/** A time that something took. */
export function seconds(number) {
  if (number === null || number === undefined) return "–";
  return number < 1 ? `${Math.round(number * 1000)}\u00a0ms` : `${number.toFixed(number < 10 ? 1 : 0)}\u00a0s`;
}

/** A name or words within a sentence, which letters that run the other way would tear apart. */
export const isolated = (text) => (/[\u0590-\u08ff\ufb1d-\ufefc]/.test(text) ? `\u2068${text}\u2069` : text);

export const plural = (number, one, many = `${one}s`) => `${count(number)} ${number === 1 ? one : many}`;
