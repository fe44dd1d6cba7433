"""A talk that is held with a real model, which finds words of its own."""

from __future__ import annotations

from dataclasses import replace

from gateway.talks.talk import Beat, Gap, Judged, Shown, Talk, Wording


def in_other_words(talk: Talk) -> Talk:
    """The talk as a real model can pass it: exact words of agents may be others, and a judge says whether they mean the
    same. Words with gaps and patterns stay."""
    return replace(talk, beats=tuple(map(_judged_beat, talk.beats)))


def _judged_beat(beat: Beat) -> Beat:
    shown: list[Shown | Gap] = []
    sentences: list[Judged] = []
    for one in beat.shown:
        if isinstance(one, Gap) or not one.wording.exact:
            shown.append(one)
            continue
        shown.append(replace(one, wording=Wording("…")))
        words = f"{one.who} says, perhaps in other words, what this says: “{one.wording}”"
        sentences.append(Judged(one.line, words, one))
    return replace(beat, replies=(), shown=tuple(shown), expected=(*beat.expected, *sentences))
