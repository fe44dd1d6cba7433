"""The people that a program declares: who they are, and how messages reach them."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from difflib import get_close_matches
from typing import Any, Literal

from msgspec import Struct, field

from runtime.language.diagnostics import DiagnosticList, SourceLine
from runtime.language.program import AgentKind, AgentSpec, Program
from runtime.language.syntax.nodes import ParsedAgent

DeliveryChannel = Literal["streaming", "buffered", "custom"]
Notifications = Literal["all", "targeted", "none"]

HUMAN_KEYS = frozenset(
    {
        *("name", "description", "person", "delivery_channel", "streaming_enabled", "streaming_chunk_size"),
        *("buffer_messages", "buffer_timeout", "meeting_notifications", "delivery_handler", "custom_handler"),
    }
)
"""The keys below `# Name:Human`."""

BUFFER_TIMEOUT_S = 5.0
"""The longest delay of a buffered message, from the first of a group."""

_ELSEWHERE = frozenset({"remote"})
"""Keys that are refused with a text of their own."""


class DeliveryPreferences(Struct, frozen=True):
    """A person's preferences for the messages of agents. "streaming" grows while it is written, in pieces of at least
    `streaming_chunk_size` characters; "buffered" is shown whole, together with what follows within `buffer_timeout_s`;
    "custom" is given to the playbook `handler` instead. Of what agents say in meetings they see all, what is `targeted`
    at them or names them, or nothing."""

    channel: DeliveryChannel = "streaming"
    streaming_enabled: bool = True
    streaming_chunk_size: int = 1
    buffer_messages: bool = False
    buffer_timeout_s: float = BUFFER_TIMEOUT_S
    meeting_notifications: Notifications = "all"
    handler: str | None = None


class HumanSpec(Struct, frozen=True):
    """A declared human: the class `declared`, the `name` they go by, and the `people` who alone may be them."""

    declared: str
    name: str
    delivery: DeliveryPreferences = field(default_factory=DeliveryPreferences)
    people: tuple[str, ...] = ()
    description: str = ""

    def is_called(self, text: str) -> bool:
        """Whether `text` is their class or name, in any case."""
        return text.strip().removeprefix("@").casefold() in (self.declared.casefold(), self.name.casefold())


ANYBODY = HumanSpec("User", "User")
"""A person declared by nobody, who sees everything as it is written."""


def humans_of(program: Program) -> tuple[HumanSpec, ...]:
    """The declared humans, in program order; without any, everybody is `ANYBODY`."""
    return tuple(_human(agent) for agent in program.agents if agent.kind is AgentKind.HUMAN)


def _human(agent: AgentSpec) -> HumanSpec:
    said = agent.metadata
    people = said.get("person") or ()
    return HumanSpec(
        agent.name,
        str(said.get("name") or agent.name),
        delivery_of(said),
        (people,) if isinstance(people, str) else tuple(map(str, people)),
        agent.description,
    )


def delivery_of(said: Mapping[str, Any]) -> DeliveryPreferences:
    """The preferences that checked metadata states. The channel decides over the single switches; without a channel
    `streaming_enabled: false` and `buffer_messages: true` mean buffered, a handler alone means custom."""
    handler = said.get("delivery_handler") or said.get("custom_handler")
    buffers = said.get("buffer_messages") is True or said.get("streaming_enabled") is False
    channel: DeliveryChannel = said.get("delivery_channel") or (
        "custom" if handler else "buffered" if buffers else "streaming"
    )
    return DeliveryPreferences(
        channel,
        streaming_enabled=channel == "streaming",
        streaming_chunk_size=int(said.get("streaming_chunk_size", 1)),
        buffer_messages=channel == "buffered",
        buffer_timeout_s=float(said.get("buffer_timeout", BUFFER_TIMEOUT_S)),
        meeting_notifications=said.get("meeting_notifications", "all"),
        handler=str(handler) if handler else None,
    )


def check_human(said: Mapping[str, Any], lines: Mapping[str, SourceLine], problems: DiagnosticList) -> None:
    """Note errors in a person's metadata, besides values that no agent may have."""
    for key, line in lines.items():
        if key not in HUMAN_KEYS and key not in _ELSEWHERE:
            near = get_close_matches(key, HUMAN_KEYS, n=1)
            hint = f"Did you mean {near[0]}? " if near else ""
            problems.at(line, f"a person has no `{key}`", hint=f"{hint}Known are {', '.join(sorted(HUMAN_KEYS))}.")
        elif wanted := _wanted(key, said[key]):
            problems.at(line, f"`{key}` cannot be {said[key]!r}", hint=f"Expected {wanted}.")
    handlers = [key for key in ("delivery_handler", "custom_handler") if said.get(key)]
    if len(handlers) > 1:
        problems.at(lines[handlers[1]], "`delivery_handler` and `custom_handler` are the same", hint="Keep one.")
    if handlers and said.get("delivery_channel", "custom") != "custom":
        message = f"`{handlers[0]}` is for `delivery_channel: custom`, this is {said['delivery_channel']}"
        problems.at(lines[handlers[0]], message, hint="Leave it out, or choose custom.")


def _wanted(key: str, value: Any) -> str:
    """The expected values of a person's key, if its value is a different one."""
    if key == "person":
        people = value if isinstance(value, list) else [value]
        known = people and all(isinstance(one, str) and _is_person(one) for one in people)
        return "" if known else "a person id such as web:42, or a list of them"
    if key in ("delivery_handler", "custom_handler"):
        return "" if isinstance(value, str) and _is_handler(value) else "the name of a playbook in Python"
    if key == "streaming_chunk_size" and isinstance(value, float) and value >= 1:
        return "a whole number of characters"
    if key == "buffer_timeout" and isinstance(value, float) and value >= 0 and not math.isfinite(value):
        return "a number of seconds"
    return "a name" if key == "name" and not str(value).strip() else ""


def _is_person(text: str) -> bool:
    platform, colon, name = text.partition(":")
    return colon != "" and platform.replace("-", "_").isidentifier() and len(name.split()) == 1 and name == name.strip()


def _is_handler(text: str) -> bool:
    names = text.split(".")
    return len(names) <= 2 and all(map(str.isidentifier, names))


def check_people(agents: Sequence[ParsedAgent], problems: DiagnosticList) -> None:
    """Note errors among the people of a whole program: two of one name, a missing handler."""
    known: dict[str, ParsedAgent] = {}
    for agent in agents:
        if agent.kind is not AgentKind.HUMAN:
            continue
        for place in [*(playbook.span for playbook in agent.playbooks), *(fence.span for fence in agent.fences)][:1]:
            hint = "Only agents have playbooks; they ask and tell a person."
            problems.at_span(place, "a person has no playbooks and no Python", hint=hint)
        names = {agent.name.casefold(), str(agent.metadata.get("name") or agent.name).strip().casefold()}
        for name in sorted(names):
            if name in known:
                message = f"{known[name].name} and {agent.name} have the same name"
                problems.at_span(agent.span, message, hint="Give each person a different `name`.")
            known.setdefault(name, agent)
        _check_handler(agent, agents, problems)


def _check_handler(human: ParsedAgent, agents: Sequence[ParsedAgent], problems: DiagnosticList) -> None:
    handler = human.metadata.get("delivery_handler") or human.metadata.get("custom_handler")
    owner, _, wanted = str(handler or "").rpartition(".")
    if not wanted or not _is_handler(str(handler)):
        return
    found = [
        playbook
        for agent in agents
        for playbook in agent.playbooks
        if playbook.kind == "python" and playbook.name == wanted and owner in ("", agent.name)
    ]
    if not found:
        hint = "Write it below an agent, in a fence of Python, with one parameter: the message."
        problems.at_span(human.span, f"the delivery handler {handler} is not a playbook in Python", hint=hint)
    elif len(found[0].params) != 1:
        problems.at_span(found[0].span, f"the delivery handler {handler} takes one argument, the message")
