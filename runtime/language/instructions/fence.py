"""The limits that a free step's words set for a model: the playbooks to call, the agents to address, the variables to
set.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import lru_cache

from msgspec import Struct

from runtime.language.program import AgentKind, AgentSpec, PlaybookSpec, Program
from runtime.language.syntax.signature import NAME_PART
from runtime.language.value_types import VARIABLE
from runtime.language.vocabulary.phrase import phrase, phrases_of

_REASONS = phrases_of("Reasons for calls")
"""Built-in calls beyond talking, reading and remembering, each with the words that give a reason for it."""

_BETWEEN = r"(?:[\s_-]+(?:a|an|the|their)\b)?[\s_-]*"
"""The separators between the words of a name."""


class FreeFence(Struct, frozen=True):
    """The bounds of the statements of one free step.

    `playbooks` may be called, `others` may not; those of other agents are written `Agent.Playbook`. `strangers` are the
    agents and declared humans that are not spoken to, by class. `reasons` are the built-in calls that there is a reason
    for, of those that need one. `guarded` are variables that are not set, `makes` those that have a value in the end.
    Playbooks called `once` are named by words that say nothing of more often.
    """

    playbooks: frozenset[str]
    others: frozenset[str]
    strangers: frozenset[str]
    reasons: frozenset[str]
    guarded: frozenset[str]
    makes: tuple[str, ...]
    once: frozenset[str] = frozenset()

    def refuses_call(self, name: str) -> str | None:
        """The reason why a call is not allowed here; None if it is."""
        if name in self.others:
            return f"this step does not name {name}; {self.may_call()}"
        if name in _REASONS and name not in self.reasons:
            return f"this step gives no reason for {name}"
        return None

    def refuses_again(self, name: str) -> str | None:
        """The reason why a call that was made is not made once more; None if it may be."""
        return f"this step calls {name} once, and that is done; use what it gave" if name in self.once else None

    def refuses_change(self, name: str) -> str | None:
        """The reason why a variable may not be set here; None if it may."""
        return f"this step does not speak of ${name}; it sets what its words name" if name in self.guarded else None

    def refuses_speech(self, name: str) -> str | None:
        """Why an agent or a declared human may not be addressed here; None if they may. `name` is the class."""
        if name in self.strangers:
            return f"this step does not name {name}, and speaks to whom it names, and to the people here"
        return None

    def may_call(self) -> str:
        """The allowed calls, in words."""
        return f"it may call {', '.join(sorted(self.playbooks))}" if self.playbooks else "it calls no playbook"


def fence_of(
    text: str, notes: Sequence[str], agent: AgentSpec, program: Program, triggered: Collection[str]
) -> FreeFence:
    """The fence of a free step. `triggered` are the playbooks that a model starts when their trigger fits."""
    words = "\n".join((text, *notes))
    callable_now = dict(_callable(agent, program))
    strangers = [other for other in program.agents if other.name != agent.name]
    spoken_to = {one.name for one in strangers if _mentions(words, one.name, str(one.metadata.get("name") or one.name))}
    named = {name for name, one in callable_now.items() if is_named(words, one.name, name) or _owner(name) in spoken_to}
    wanted = named or _left_to_models(agent, program, callable_now)
    harmless = {name for name, one in callable_now.items() if one.pure}
    often, made = phrase("often").inside(VARIABLE.sub("", words)), phrase("sets or keeps").all_inside(text)
    playbooks = frozenset({*wanted, *harmless, *(name for name in triggered if name in callable_now)})
    reached = spoken_to | {_owner(name) for name in named}
    return FreeFence(
        playbooks=playbooks,
        others=frozenset(callable_now) - playbooks,
        strangers=frozenset(other.name for other in strangers) - reached,
        reasons=frozenset(name for name, reason in _REASONS.items() if f"{name}(" in words or reason.inside(words)),
        guarded=frozenset(name for name in _variables(agent) if not is_named(words, name, f"${name}")),
        once=frozenset() if often else frozenset(named & {*callable_now} - harmless),
        makes=tuple(dict.fromkeys(found["target"].removeprefix("$") for found in made)),
    )


def _left_to_models(agent: AgentSpec, program: Program, playbooks: Mapping[str, PlaybookSpec]) -> set[str]:
    """The agent's playbooks, and servers' tools, that no step names and no trigger starts: a model may call them."""
    said = "\n".join(step.text for playbook in agent.playbooks for step in playbook.walk_steps())
    open_to_all = {"", *program.remote_agents}
    there = {name: one for name, one in playbooks.items() if _owner(name) in open_to_all and not one.triggers}
    return {name for name, one in there.items() if not is_named(said, one.name, name)}


def _owner(name: str) -> str:
    """The agent of `Agent.Playbook`; "" for the agent's own playbook."""
    return name.rpartition(".")[0]


def _callable(agent: AgentSpec, program: Program) -> Iterator[tuple[str, PlaybookSpec]]:
    for playbook in agent.playbooks:
        if not playbook.hidden:
            yield playbook.name, playbook
    for other in program.agents:
        if other.name != agent.name and other.kind is not AgentKind.HUMAN:
            yield from ((f"{other.name}.{one.name}", one) for one in other.playbooks if one.public and not one.hidden)


@lru_cache(maxsize=4096)
def _spelt(name: str) -> re.Pattern[str]:
    """A name in any spelling: FindOrder, find_order, "find the order"."""
    words = map(re.escape, NAME_PART.findall(name.replace("_", " ")) or [name])
    return re.compile(rf"\b{_BETWEEN.join(words)}(?:s|es)?\b", re.IGNORECASE)


def is_named(words: str, name: str, written: str | None = None) -> bool:
    """Whether words name a playbook or a variable in any spelling, or as it is `written`."""
    return (written is not None and written in words) or _spelt(name).search(words) is not None


def _mentions(words: str, *names: str) -> bool:
    return any(is_named(words, one) for name in names for one in (name, name.removesuffix("Agent") or name))


def _variables(agent: AgentSpec) -> Iterator[str]:
    """The variables that an agent's text mentions."""
    for playbook in agent.playbooks:
        yield from (param.name for param in playbook.params if param.state)
        yield from VARIABLE.findall("\n".join(playbook.texts))
