// The part of a session's strip that is fetched: a window of facts, at its end or around a moment of the past.

import {get} from "../api.js";
import {momentOf} from "./strip.js";
import {useEffect, useRef, useState} from "../ui.js";

const AT_ONCE = 1000;

/**
 * A session and the window of its strip, kept up with what happens. `wanted` is the moment that has to be in it, 0 for
 * the end. `strip` has marks, and the numbers of its `first` and `last` facts and of the session's last one, the `head`.
 */
export function useStrip(id, wanted) {
  const tape = `/tape/v1/tapes/sessions.${encodeURIComponent(id)}`;
  const [about, setAbout] = useState(null);
  const [strip, setStrip] = useState(null);
  const [trouble, setTrouble] = useState("");
  const waits = useRef(null);
  const now = useRef(null); // what a stream's news find when they come
  now.current = {strip, wanted};

  const part = async (until) => {
    const found = await get(`${tape}/strip`, {until, limit: AT_ONCE});
    return {...found, last: Math.min(until || found.head, found.head)};
  };
  const guarded = async (work) => {
    try {
      await work();
      setTrouble("");
    } catch (error) {
      setTrouble(error.message);
    }
  };
  const refresh = () => guarded(async () => {
    const {strip: known, wanted: moment} = now.current;
    const atEnd = known ? known.last >= known.head : !moment;
    const [found, newest] = await Promise.all([
      get(`/bus/v1/sessions/${encodeURIComponent(id)}`), atEnd ? part("") : known ? null : part(moment + AT_ONCE / 2),
    ]);
    setAbout(found);
    setStrip((before) => (newest ? joined(before, newest) : {...before, head: found.facts}));
  });
  useEffect(() => {
    setStrip(null);
    now.current.strip = null;
    void refresh();
    const stream = new EventSource(`${tape}/follow`);
    stream.onmessage = () => {
      waits.current ??= setTimeout(() => {
        waits.current = null;
        void refresh();
      }, 400);
    };
    return () => {
      stream.close();
      clearTimeout(waits.current);
      waits.current = null;
    };
  }, [id]);
  const earlier = () => guarded(async () => {
    const older = await part(strip.first - 1);
    setStrip((before) => joined(older, before));
  });
  const later = () => guarded(async () => {
    const newer = await part(strip.last + AT_ONCE);
    setStrip((before) => joined(before, newer));
  });
  const place = wanted || strip?.head || 0;
  useEffect(() => {
    if (!strip || (place >= strip.first && place <= strip.last) || place > strip.head) return;
    if (place < strip.first && strip.first - place < AT_ONCE) void earlier();
    else if (place > strip.last && place - strip.last < AT_ONCE) void later();
    else void guarded(async () => setStrip(await part(place + AT_ONCE / 2)));
  }, [place, strip?.first, strip?.last]);
  return {
    tape, about, strip, trouble,
    earlier: strip && strip.first > 1 ? earlier : null, later: strip && strip.last < strip.head ? later : null,
  };
}

/** Two windows, one behind the other: a mark that they cut in two is one again. A gap between them drops the older.
 * They are in order, also what began before the newer window and has only now ended. */
function joined(older, newer) {
  if (!older || newer.first > older.last + 1) return newer;
  const marks = new Map(older.marks.filter((mark) => momentOf(mark) < newer.first || mark.last === null).map((mark) => [mark.key, mark]));
  for (const mark of newer.marks) {
    const before = marks.get(mark.key);
    marks.set(mark.key, before && mark.first === null ? {...mark, first: before.first, at: before.at, name: mark.name || before.name, frame: mark.frame || before.frame} : mark);
  }
  return {
    marks: [...marks.values()].sort((one, other) => (one.first ?? one.last) - (other.first ?? other.last)), head: Math.max(older.head, newer.head),
    first: Math.min(older.first, newer.first), last: Math.max(older.last, newer.last),
  };
}
