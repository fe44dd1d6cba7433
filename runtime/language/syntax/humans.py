"""The people that a program declares: who they are, and how messages reach them."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from difflib import get_close_matches
from typing import Any, Literal

from msgspec import Struct, field

from runtime.language.diagnostics import DiagnosticList, SourceLine
from runtime.language.program import AgentKind, AgentSpec, Program
from runtime.language.syntax.nodes import ParsedAgent

DeliveryChannel = Literal["streaming", "buffered", "custom"]
Notifications = Literal["all", "targeted", "none"]

_KEYS = frozenset(
    {
        *("name", "description", "person", "delivery_channel", "streaming_enabled", "streaming_chunk_size"),
        *("buffer_messages", "buffer_timeout", "meeting_notifications", "delivery_handler", "custom_handler"),
    }
)
PERSON_KEYS = _KEYS | {"remote"}
"""The keys below `# Name:Human`; `remote` is refused there with a text of its own."""

BUFFER_TIMEOUT_S = 5.0
"""The longest delay of a buffered message, from the first of a group."""


class DeliveryPreferences(Struct, frozen=True):
    """A person's preferences for the messages of agents. "streaming" grows while it is written, in pieces of at least
    `streaming_chunk_size` characters; "buffered" is shown whole, together with what follows within `buffer_timeout_s`;
    "custom" is given to the playbook `handler` instead. Of what agents say in meetings they see all, what is `targeted`
    at them or names them, or nothing."""

    channel: DeliveryChannel = "streaming"
    streaming_chunk_size: int = 1
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
    """The person of checked metadata. The channel decides over the single switches; without a channel
    `streaming_enabled: false` and `buffer_messages: true` mean buffered, a handler alone means custom."""
    said = agent.metadata
    people = said.get("person") or ()
    handler = said.get("delivery_handler") or said.get("custom_handler")
    buffers = said.get("buffer_messages") is True or said.get("streaming_enabled") is False
    delivery = DeliveryPreferences(
        said.get("delivery_channel") or ("custom" if handler else "buffered" if buffers else "streaming"),
        streaming_chunk_size=int(said.get("streaming_chunk_size", 1)),
        buffer_timeout_s=float(said.get("buffer_timeout", BUFFER_TIMEOUT_S)),
        meeting_notifications=said.get("meeting_notifications", "all"),
        handler=str(handler) if handler else None,
    )
    people = (people,) if isinstance(people, str) else tuple(map(str, people))
    return HumanSpec(agent.name, str(said.get("name") or agent.name), delivery, people, agent.description)


def check_human(said: Mapping[str, Any], lines: Mapping[str, SourceLine], problems: DiagnosticList) -> None:
    """Note errors in a person's metadata, besides values that no agent may have."""
    for key, line in lines.items():
        if key not in PERSON_KEYS:
            near = get_close_matches(key, _KEYS, n=1)
            hint = f"Did you mean {near[0]}? " if near else ""
            problems.at(line, f"a person has no `{key}`", hint=f"{hint}Known are {', '.join(sorted(_KEYS))}.")
        elif key in _VALUES and not _VALUES[key][0](said[key]):
            problems.at(line, f"`{key}` cannot be {said[key]!r}", hint=f"Expected {_VALUES[key][1]}.")
    handlers = [key for key in _HANDLERS if said.get(key)]
    if len(handlers) > 1:
        problems.at(lines[handlers[1]], "`delivery_handler` and `custom_handler` are the same", hint="Keep one.")
    if handlers and said.get("delivery_channel", "custom") != "custom":
        message = f"`{handlers[0]}` is for `delivery_channel: custom`, this is {said['delivery_channel']}"
        problems.at(lines[handlers[0]], message, hint="Leave it out, or choose custom.")


def _are_people(value: Any) -> bool:
    people = value if isinstance(value, list) else [value]
    return bool(people) and all(isinstance(one, str) and _is_person(one) for one in people)


def _is_person(text: str) -> bool:
    platform, colon, name = text.partition(":")
    return colon != "" and platform.replace("-", "_").isidentifier() and len(name.split()) == 1 and name == name.strip()


def _is_handler(value: Any) -> bool:
    names = value.split(".") if isinstance(value, str) else []
    return 0 < len(names) <= 2 and all(map(str.isidentifier, names))


_HANDLERS = ("delivery_handler", "custom_handler")
_VALUES: Mapping[str, tuple[Callable[[Any], bool], str]] = {
    "person": (_are_people, "a person id such as web:42, or a list of them"),
    **dict.fromkeys(_HANDLERS, (_is_handler, "the name of a playbook in Python")),
    "streaming_chunk_size": (lambda value: not isinstance(value, float) or value < 1, "a whole number of characters"),
    "buffer_timeout": (lambda value: value != math.inf, "a number of seconds"),
    "name": (lambda value: bool(str(value).strip()), "a name"),
}
"""What a person's value must be, beside what an agent's must, and the words for that, by key."""


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
    if not wanted:
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
