"""The kind of trigger in a text, and the playbook for messages that no trigger fits.

The runtime detects a trigger itself, or a model judges it.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, Literal
from zoneinfo import ZoneInfo

from msgspec import Struct

from runtime.core.message import Message, MessageType
from runtime.core.times import UNITS_S, SetTimes, read_times
from runtime.language.diagnostics import Span
from runtime.language.event_triggers import event_trigger
from runtime.language.instructions.conditions.reading import read_condition
from runtime.language.instructions.evaluation import NotComputable
from runtime.language.instructions.expression import Expression
from runtime.language.program import AgentSpec, Param, PlaybookSpec, Trigger, TriggerKind
from runtime.language.value_types import VARIABLE, variable_name
from runtime.language.vocabulary.phrase import phrase

Condition = Callable[[Mapping[str, Any]], bool]

_DIGITS = 2
"""Of the minutes of a time."""

_SENDERS = {
    **dict.fromkeys(("user", "users", "person", "people", "human", "humans"), "user"),
    **dict.fromkeys(("agent", "agents"), "agent"),
    **dict.fromkeys(("anybody", "anyone", "somebody", "someone"), ""),
}

HANDLER = PlaybookSpec(
    name="ProcessMessages",
    kind="llm",
    span=Span("built-in", 1),
    params=(Param("messages"),),
    description=(
        "Handles messages that came while nothing was going on, all of them, in their order. When a trigger above "
        "fits one, call its playbook with what the message gives; else answer whoever wrote, as your "
        "description says: a person, an agent, or a meeting. A message that was changed or taken back: see to what "
        'was done because of it. A reminder: do what it says. At the end `await Var("__", "<what was done>")` keeps in '
        "a sentence what was done, for later; then Return."
    ),
    metadata={"hidden": True},
)
"""The playbook, which needs no compilation because it has no steps."""


def condition_of(text: str) -> Condition | None:
    """The condition that a trigger's text states about variables (`When $x > 15`), None when it is not computable.

    It is read as the conditions of steps are, but calls nothing: a word without `$` that is no literal is left to the
    model.
    """
    found = phrase("before a test").begins(text.strip())
    expression = read_condition(found.rest.rstrip().removesuffix(".") if found else text)
    if expression is None or expression.calls or not expression.names:
        return None
    absent = dict.fromkeys(_compared_with_none(expression.tree))
    return lambda variables: _holds(expression, {**absent, **variables})


def _holds(expression: Expression, variables: Mapping[str, Any]) -> bool:
    try:
        return bool(expression.evaluate(variables))
    except NotComputable:
        return False


def _compared_with_none(tree: ast.AST) -> Iterator[str]:
    for node in ast.walk(tree):
        match node:
            case ast.Compare(left=ast.Name(id=name), comparators=[*_, ast.Constant(value=None)]):
                yield variable_name(name)


_ANY_TIME, _ANY_ZONE = datetime(2026, 1, 1, tzinfo=UTC), ZoneInfo("UTC")
"""For reading repeated times, which depend on neither."""


When = Literal["before", "after"]


class CallTrigger(Struct, frozen=True):
    when: When
    playbook: str


class MessageTrigger(Struct, frozen=True):
    """A trigger for messages from `sender`: "user", "agent" (any), or an agent class; None for anybody."""

    sender: str | None

    def fits(self, message: Message) -> bool:
        if message.type not in (MessageType.DIRECT, MessageType.MEETING_BROADCAST):
            return False
        if self.sender is None:
            return True
        if self.sender == "user":
            return message.from_human
        return not message.from_human and self.sender in ("agent", message.sender_class.lower())


def call_trigger(text: str, playbooks: Sequence[str]) -> CallTrigger | None:
    """`Before calling Ship`, `When Ship returns`: about one of `playbooks`."""
    found = phrase("about a call").begins(text.strip().replace("`", ""))
    if found is None:
        return None
    name = next((name for name in playbooks if name.lower() == found["name"].lower()), None)
    if name is None:
        return None
    return CallTrigger("before" if found["before"] else "after", name)


def message_trigger(text: str) -> MessageTrigger | None:
    """`When a message comes from the Accountant`, `Whenever any message arrives`."""
    found = phrase("a message comes").begins(text.strip())
    if found is None:
        return None
    sender = found["sender"].lower()
    return MessageTrigger(_SENDERS.get(sender, sender) or None)


def receives_alone(playbook: PlaybookSpec) -> bool:
    """Whether the runtime can start a playbook with a message: it takes at most one argument."""
    return sum(param.default is None for param in playbook.params) <= 1


def time_trigger(text: str) -> SetTimes | None:
    """`Every 10 minutes`, `Every day at 09:00`, `Every weekday at 8:30`, `cron: 0 9 * * 1-5`."""
    said = text.strip().rstrip(".")
    if found := phrase("at intervals").begins(said):
        number = float("".join(found["number"].split()) or 1)
        return SetTimes(every_s=number * UNITS_S[found["unit"].lower().removesuffix("s")])
    if found := phrase("daily at").begins(said):
        if not len(found["hour"]) <= len(found["minute"]) == _DIGITS:
            return None
        said = f"{int(found['minute'])} {int(found['hour'])} * * *"
    read = read_times(said, _ANY_TIME, _ANY_ZONE)
    return None if read is None or read[2] or read[0].at is not None else read[0]


def begins_alone(playbook: PlaybookSpec) -> bool:
    """Whether the runtime can start a playbook, which must then need no arguments."""
    return all(param.default is not None for param in playbook.params)


def times_of(agent: AgentSpec) -> dict[str, SetTimes]:
    return {
        f"{agent.name}:{playbook.name}:{trigger.code}": times
        for playbook in agent.playbooks
        if begins_alone(playbook)
        for trigger in playbook.triggers
        if trigger.kind is not TriggerKind.BGN and (times := time_trigger(trigger.text)) is not None
    }


def judged_by_model(agent: AgentSpec, owner: AgentSpec, playbook: PlaybookSpec, trigger: Trigger) -> bool:
    """Whether only the model that executes `agent` can tell that a trigger is true, or give its arguments."""
    if trigger.kind is TriggerKind.BGN or event_trigger(trigger.text) is not None:
        return False
    if message_trigger(trigger.text) is not None and receives_alone(playbook):
        return False
    if playbook.meeting and phrase("invited").begins(trigger.text.strip()):
        return False
    if not begins_alone(playbook):
        return True
    names = [playbook.name for playbook in (*agent.playbooks, *owner.playbooks)]
    computed = condition_of(trigger.text) or time_trigger(trigger.text)
    return computed is None and call_trigger(trigger.text, names) is None


def may_hold_by(text: str, changed: Collection[str]) -> bool:
    """Whether a condition may become true when these variables change: it names one of them, or none at all."""
    named = VARIABLE.findall(text)
    return bool(changed) and (not named or any(name in changed for name in named))


def judges(agent: AgentSpec, others: Sequence[AgentSpec]) -> bool:
    return any(judged_by_model(agent, *trigger) for trigger in triggers_of(agent, others))


def triggers_of(agent: AgentSpec, others: Sequence[AgentSpec]) -> Iterator[tuple[AgentSpec, PlaybookSpec, Trigger]]:
    """The triggers that concern an agent: its own, and those of others' public playbooks, without start triggers."""
    for owner in (agent, *others):
        for playbook in owner.playbooks:
            if owner is agent or playbook.public:
                yield from (
                    (owner, playbook, trigger) for trigger in playbook.triggers if trigger.kind is not TriggerKind.BGN
                )


class JudgedTriggers(Struct, frozen=True):
    """The triggers of an agent that only a model can judge, by the names by which their playbooks are called.

    `by_message` are about what somebody says: each with its text and the parameters of its playbook with their types.
    `by_state` are conditions in words.
    """

    by_message: Mapping[str, tuple[str, Mapping[str, str]]]
    by_state: Mapping[str, str]


def judged_triggers(agent: AgentSpec, others: Sequence[AgentSpec], executes: str) -> JudgedTriggers:
    by_message: dict[str, tuple[str, Mapping[str, str]]] = {}
    by_state: dict[str, str] = {}
    for owner, playbook, trigger in triggers_of(agent, others):
        name = playbook.name if owner is agent else f"{owner.name}.{playbook.name}"
        if not judged_by_model(agent, owner, playbook, trigger) or (owner is agent and playbook.name == executes):
            continue
        if trigger.kind is TriggerKind.CND and begins_alone(playbook):
            by_state.setdefault(name, trigger.text)
        else:
            params = {param.name: param.type or "" for param in playbook.params if param.default is None}
            by_message.setdefault(name, (trigger.text, params))
    return JudgedTriggers(by_message, by_state)
