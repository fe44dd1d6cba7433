"""All built-in calls, as they are declared where they are carried out."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from runtime.execution.calls.agents import AgentCalls
from runtime.execution.calls.artifacts import ArtifactCalls, ProgramFiles
from runtime.execution.calls.ask import SessionQuestions
from runtime.execution.calls.builtins import BuiltinCalls, LogCalls
from runtime.execution.calls.meetings import MeetingCalls
from runtime.execution.calls.reminders import SessionReminders
from runtime.execution.frames.signatures import CallSignature, call, declared
from runtime.execution.speech.utterances import SessionUtterances


class Control:
    """The calls that end a reply. The interpreter of replies carries them out; nothing here is ever executed."""

    @call("Yld")
    def yld(self, source: Any) -> None:
        """Ends a reply to wait for what `source` names, usually "user"; "call" continues at once."""

    @call("Return")
    def return_(self, value: Any = None) -> None:
        """Ends a playbook with a value."""


_OWNERS = (
    *(SessionUtterances, SessionQuestions, BuiltinCalls, SessionReminders, AgentCalls, MeetingCalls),
    *(ProgramFiles, ArtifactCalls, LogCalls, Control),
)

SIGNATURES: dict[str, CallSignature] = {one.name: one for owner in _OWNERS for one in declared(owner)}
"""By name, those of features last. Nothing else can have such a name: neither what a reply defines nor a variable hides
a built-in call."""


def take_calls(owners: Iterable[type]) -> None:
    SIGNATURES.update({one.name: one for owner in owners for one in declared(owner)})
