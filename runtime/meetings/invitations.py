"""Invitations to a meeting: who is asked, how often, and the possible answers. Pure rules."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from runtime.core.errors import PlaybookError
from runtime.core.ids import ParticipantId
from runtime.language.program import PlaybookSpec
from runtime.tape.state.meetings import AskState, MeetingState

AGAIN_AFTER_S = 30.0
"""The wait for an answer to the first invitation; each further one waits twice as long as the one before."""

MAX_TIMES = 5
"""The number of invitations; a quarter of an hour after the first one the wait ends."""

JOINED = "JOINED"
BUSY = "REJECTED - busy"
DECLINED = "REJECTED - declined"
LEFT = "LEFT"
NO_ANSWER = "did not answer"

AUTOMATIC = ("topic", "attendees")
"""Parameters that every meeting playbook has."""

BEFORE_JOINING = "before_joining"
"""The key of a meeting playbook by which its agent names what it executes before it answers."""

MAX_REASON_CHARS = 200
"""The length of a reason for not coming."""

_WORD = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])|\d+")
_SAYS_NOTHING = frozenset({"meeting", "a", "an", "the", "to", "in", "when", "invited", "for", "of", "on", "about"})


def due_after(times: int, now_s: float) -> float:
    return now_s + AGAIN_AFTER_S * 2.0 ** (times - 1)


def is_silent(meeting: MeetingState, who: ParticipantId) -> bool:
    """Whether a meeting cannot begin because `who` has not answered."""
    ask = meeting.asks.get(who)
    return ask is not None and ask.required and ask.due is not None and not meeting.invited.get(who)


def is_last(ask: AskState) -> bool:
    return ask.times >= MAX_TIMES


def rejected(reason: str) -> str:
    return f"REJECTED - {reason}"


def answer_of(value: Any, error: tuple[str, str] | None) -> str:
    """The answer of an agent whose playbook of `before_joining` returned a value, or failed with a type and a text.

    A text is the reason why it does not come, False means that it does not, and everything else that it does.
    """
    if error is not None:
        return rejected(f"{error[1] or error[0]}"[:MAX_REASON_CHARS])
    if isinstance(value, str) and value.strip() not in ("", JOINED):
        return rejected(value.strip().removeprefix(rejected("")).strip()[:MAX_REASON_CHARS])
    return DECLINED if value is False else JOINED


def cannot_handle(playbooks: Sequence[PlaybookSpec]) -> str:
    """The answer of an agent none of whose meetings, which are `playbooks`, fits."""
    types = ", ".join(playbook.name for playbook in playbooks)
    return rejected(f"cannot handle this type of meeting. Here are the meeting types I can handle: [{types}]")


def fitting(playbooks: Sequence[PlaybookSpec], type_: str, topic: str) -> PlaybookSpec | None:
    """The playbook by which an agent takes part in a meeting of a type: the host's playbook, and what it is about.

    It is one with a trigger that names the type or the topic, else the one of the same name, else the only one there
    is; None when none fits.
    """
    for wanted in (_words(type_), _words(topic)):
        named = [playbook for playbook in playbooks if wanted and any(_names(playbook, wanted))]
        if named:
            return named[0]
    same = [playbook for playbook in playbooks if playbook.name.casefold() == type_.casefold()]
    return next(iter(same or (playbooks if len(playbooks) == 1 else ())), None)


def _names(playbook: PlaybookSpec, wanted: frozenset[str]) -> list[bool]:
    return [wanted <= _words(trigger.text) for trigger in playbook.triggers]


def _words(text: str) -> frozenset[str]:
    """The words of a text or of a name such as `TravelPlanningMeeting` that say something."""
    return frozenset(word.lower() for word in _WORD.findall(text)) - _SAYS_NOTHING


def names_of(given: Any) -> list[str]:
    """The attendees that a program gives as a list, or as one text with commas. Raises PlaybookError."""
    if given is None:
        return []
    names = given.split(",") if isinstance(given, str) else given
    if not isinstance(names, list | tuple) or not all(isinstance(name, str | int) for name in names):
        raise PlaybookError(f'attendees are given as a list such as ["Accountant", "agent 1003"], not as {given!r}')
    return [name for name in (str(name).strip() for name in names) if name]
