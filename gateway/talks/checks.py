"""Differences between a beat as it is written and its outcome."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from msgspec import Struct

from gateway.talks import talk as forms
from gateway.talks.staging.record import BeatRecord, SeenCall, SeenMessage
from runtime.core.plain_text import shortened
from runtime.language.instructions.evaluation import NotComputable

_MAX_VALUE_CHARS = 300
_ANY: Mapping[str, Any] = {}


class TalkDifference(Struct, frozen=True):
    """A line of the talk that is not so: what is written there, and what was seen instead.

    `fits`: these words are as they are written, and are told for their place among the others.
    """

    line: int
    expected: str
    seen: str
    fits: bool = False


def differences(
    beat: forms.TalkTurn,
    record: BeatRecord,
    never: Sequence[forms.TalkFact],
    unused: Sequence[forms.ScriptedReply],
    first_agent: str,
) -> list[TalkDifference]:
    """What differs in a beat: first the words, in their order."""
    at = beat.act.line if beat.act is not None else 0
    found = _words(beat, record, at)
    found += [
        TalkDifference(fact.line, str(fact), wrong)
        for fact in beat.expected
        if (wrong := _missing(fact, record, first_agent))
    ]
    found += [TalkDifference(reply.line, _answer(reply), "the model was not asked for it") for reply in unused]
    found += [
        TalkDifference(fact.line, f"never {fact}", seen)
        for fact in never
        if (seen := _forbidden(fact, record, first_agent))
    ]
    if not any(isinstance(fact, forms.ExpectedFailure) for fact in beat.expected):
        found += [TalkDifference(at, "no failure", failure) for failure in record.failures if not record.fault]
    if record.fault:
        came_no_more = {one.line for one in (*beat.shown, *beat.replies)}
        found = [TalkDifference(at, "", record.fault), *(one for one in found if one.line not in came_no_more)]
    return found


def _answer(reply: forms.ScriptedReply) -> str:
    return f"model: {shortened(reply.text, _MAX_VALUE_CHARS)}"


# -- what is shown


def _words(beat: forms.TalkTurn, record: BeatRecord, at: int) -> list[TalkDifference]:
    """All words, where some of them differ."""
    if not beat.shown:
        return []
    found: list[TalkDifference] = []
    line = at
    for shown, seen in aligned(beat.shown, record.seen):
        line = shown.line if shown is not None else line
        there = "nothing" if seen is None else f"{seen.who}: {seen.text}"
        if seen is None and record.waits:
            there = f"nothing; {record.waits}"
        same = isinstance(shown, forms.TranscriptGap) or (shown is not None and seen is not None and fits(shown, seen))
        found.append(TalkDifference(line, "nothing" if shown is None else str(shown), there, fits=same))
    return [] if all(one.fits for one in found) else found


def fits(shown: forms.ExpectedWords, seen: SeenMessage) -> bool:
    return shown.who == seen.who and shown.wording.fits(seen.text)


def aligned(
    written: Sequence[forms.ExpectedWords | forms.TranscriptGap], seen: Sequence[SeenMessage]
) -> list[tuple[forms.ExpectedWords | forms.TranscriptGap | None, SeenMessage | None]]:
    """What is written beside what was seen, with as many that fit as possible; a gap is beside each that it stands for.

    What does not fit stands beside each other where both sides have something left.
    """
    best = _fitting(written, seen)
    pairs: list[tuple[forms.ExpectedWords | forms.TranscriptGap | None, SeenMessage | None]] = []
    left: list[forms.ExpectedWords] = []
    right: list[SeenMessage] = []
    i = j = 0

    def flush() -> None:
        for number in range(max(len(left), len(right))):
            one = left[number] if number < len(left) else None
            pairs.append((one, right[number] if number < len(right) else None))
        left.clear()
        right.clear()

    while i < len(written) or j < len(seen):
        here = written[i] if i < len(written) else None
        if isinstance(here, forms.TranscriptGap):
            if j < len(seen) and best[i][j] == best[i][j + 1]:
                flush()
                pairs.append((here, seen[j]))
                j += 1
            else:
                i += 1
        elif here is not None and j < len(seen) and fits(here, seen[j]) and best[i][j] == best[i + 1][j + 1] + 1:
            flush()
            pairs.append((here, seen[j]))
            i, j = i + 1, j + 1
        elif here is not None and best[i][j] == best[i + 1][j]:
            left.append(here)
            i += 1
        else:
            right.append(seen[j])
            j += 1
    flush()
    return pairs


def _fitting(
    written: Sequence[forms.ExpectedWords | forms.TranscriptGap], seen: Sequence[SeenMessage]
) -> list[list[int]]:
    """How many messages from place (i, j) on can fit what is written."""
    best = [[0] * (len(seen) + 1) for _ in range(len(written) + 1)]
    for i in range(len(written) - 1, -1, -1):
        here = written[i]
        for j in range(len(seen), -1, -1):
            best[i][j] = best[i + 1][j]
            if j < len(seen):
                best[i][j] = max(best[i][j], best[i][j + 1])
                if isinstance(here, forms.ExpectedWords) and fits(here, seen[j]):
                    best[i][j] = max(best[i][j], best[i + 1][j + 1] + 1)
    return best


# -- what has to come of it


def _missing(fact: forms.TalkFact, record: BeatRecord, first_agent: str) -> str:
    """What was seen instead of a fact; "" where it is so."""
    match fact:
        case forms.ExpectedCondition():
            return _not_held(fact, record, first_agent)
        case forms.JudgedSentence():
            return record.verdicts.get(fact.line, "")
    happened, instead = _happened(fact, record)
    return "" if happened else instead


def _happened(fact: forms.TalkFact, record: BeatRecord) -> tuple[bool, str]:
    """Whether a fact is so, and what was seen in its place where it is not."""
    match fact:
        case forms.HeardByAny():
            texts = [seen.text for seen in record.seen]
            said = "\n".join(f"{seen.who}: {seen.text}" for seen in record.seen)
            return any(map(fact.wording.fits, texts)), said or "nobody said anything"
        case forms.ExpectedStep():
            places = [(name, number) for agent, name, number in record.steps if agent == fact.agent]
            so = any(name == fact.playbook and fact.number in ("", number) for name, number in places)
            steps = ", ".join(f"{name}:{number}" for name, number in places)
            return so, f"steps {steps}" if steps else f"no step of {fact.agent}"
        case forms.ExpectedCall():
            calls = [call for call in record.calls if call.playbook == fact.playbook] or record.calls
            return any(_is_call(fact, call) for call in calls), "\n".join(map(str, calls)) or "no call"
        case forms.ExpectedEnd():
            return record.ended, f"it goes on; {record.waits}" if record.waits else "it goes on"
        case forms.ExpectedFailure():
            return any(map(fact.wording.fits, record.failures)), "\n".join(record.failures) or "nothing failed"
        case forms.ExpectedTelling():
            told = [text for who, text in record.letters if who == fact.agent]
            return any(map(fact.wording.fits, told)), "\n".join(told) or "nothing was said to it"
        case forms.WorkReturns():
            return any(map(fact.wording.fits, record.results)), "\n".join(record.results) or "no result"
        case forms.ExpectedChoices():
            offered = "; ".join(", ".join(seen.choices) for seen in record.seen if seen.choices)
            so = any(set(fact.labels) <= seen.choices.keys() for seen in record.seen)
            return so, f"choices {offered}" if offered else "no choices"
    return False, "nothing of it"


def _forbidden(fact: forms.TalkFact, record: BeatRecord, first_agent: str) -> str:
    """What was seen of something that must not be; "" for nothing."""
    match fact:
        case forms.ExpectedCondition():
            return "it is so" if not _not_held(fact, record, first_agent) else ""
        case forms.HeardByAny():
            return next((f"{seen.who}: {seen.text}" for seen in record.seen if fact.wording.fits(seen.text)), "")
        case forms.ExpectedCall():
            return next((str(call) for call in record.calls if _is_call(fact, call)), "")
    return str(fact) if _happened(fact, record)[0] else ""


def _is_call(fact: forms.ExpectedCall, call: SeenCall) -> bool:
    if fact.playbook != call.playbook or fact.agent not in ("", call.agent):
        return False
    if fact.arguments is None:
        return True
    wanted = fact.arguments if fact.open_end else {**fact.defaults, **fact.arguments}
    if not fact.open_end and wanted.keys() != call.arguments.keys():
        return False
    return all(key in call.arguments and _same(value, call.arguments[key]) for key, value in wanted.items())


def _same(one: Any, other: Any) -> bool:
    """Whether two values are equal and of the same type all the way down: 1 is neither "1", 1.0 nor true."""
    return json.dumps(one, sort_keys=True, default=repr) == json.dumps(other, sort_keys=True, default=repr)


def _not_held(fact: forms.ExpectedCondition, record: BeatRecord, first_agent: str) -> str:
    """The values of a condition that is not so; "" where it is."""
    variables = record.variables.get(fact.agent or first_agent, _ANY)
    missing = sorted(name for name in fact.test.names if name not in variables)
    if missing:
        return f"{', '.join(f'${name}' for name in missing)} was never set"
    shown = ", ".join(f"${name} is {_shown(variables[name])}" for name in sorted(fact.test.names))
    try:
        return "" if fact.test.evaluate(variables) else shown
    except NotComputable as error:
        return f"{shown}: {error}"


def _shown(value: Any) -> str:
    return shortened(json.dumps(value, ensure_ascii=False, default=str), _MAX_VALUE_CHARS)
