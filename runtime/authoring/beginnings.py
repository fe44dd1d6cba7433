"""How playbooks begin: mistakes in start triggers, what nothing starts or reaches, and words that nobody sees."""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterator, Mapping
from datetime import UTC, datetime
from difflib import get_close_matches
from zoneinfo import ZoneInfo

from msgspec import Struct

from runtime.authoring.findings import Finding, SourceLines, as_written, nodes_of, python_of
from runtime.core.times import read_times
from runtime.language.event_triggers import PLACE, event_trigger, speaks_of_people, trigger_kind
from runtime.language.instructions.text import CALLED
from runtime.language.program import AgentSpec, PlaybookSpec, Program, TriggerKind
from runtime.language.syntax.signature import NAME_PART
from runtime.language.vocabulary.phrase import phrase, words_of
from runtime.language.vocabulary.word_list import WORD, words_of_text

_WORDS = (
    *("beginning", "begins", "starts", "started", "start", "startup", "launch", "launches"),
    *("program", "conversation", "session", "application"),
)
_ANY_TIME, _ANY_ZONE = datetime(2026, 1, 1, tzinfo=UTC), ZoneInfo("UTC")
_SHORTEST = 5
_ENGLISH = tuple(words_of("beginnings"))
"""How a trigger begins; one in another language resembles English words by chance."""

_PEOPLE = ("user", "human")
_LITTLE = frozenset({"a", "an", "the", "of", "to", "for", "and", "in", "on", "with"})


def never_begins(program: Program) -> Iterator[Finding]:
    """A program in which nothing starts and no message starts anything."""
    playbooks = [playbook for agent in program.agents for playbook in agent.playbooks]
    if any(map(_begins, playbooks)) or any(agent.standby for agent in program.agents) or not program.agents:
        return
    in_prose = [one for one in playbooks if one.kind == "llm"]
    headings: list[PlaybookSpec | AgentSpec] = [*in_prose, *playbooks, *program.agents]
    first = headings[0]
    hint = "Write ### Triggers with `- At the beginning` below the playbook that is to start it."
    yield Finding(first.span, "nothing starts this program: no playbook has a trigger", hint, first.name)


def _begins(playbook: PlaybookSpec) -> bool:
    """Whether a playbook begins without a call of another one."""
    return bool(playbook.triggers or playbook.meeting or playbook.metadata.get("cli_entry"))


def misspelt_beginnings(playbook: PlaybookSpec) -> Iterator[Finding]:
    """Triggers that refer to the start with a misspelt word."""
    for trigger in playbook.triggers:
        if trigger.kind is not TriggerKind.BGN and (meant := _beginning(trigger.text)):
            word, text = meant
            message = f"`{trigger.text}` is not understood as the beginning"
            yield Finding(trigger.span, message, f"Did you mean “{text}”?", word)


def misread_times(playbook: PlaybookSpec) -> Iterator[Finding]:
    """Triggers that say when, and that no clock can start: "Every day at 8:00 and 20:00"."""
    for trigger in playbook.triggers:
        repeated = phrase("repeated time").begins(trigger.text)
        if repeated is None or trigger.kind is TriggerKind.BGN:
            continue
        read = read_times(trigger.text.strip().rstrip("."), _ANY_TIME, _ANY_ZONE)
        known = phrase("every day or week").begins(trigger.text) or speaks_of_people(repeated.rest)
        if read[2] not in ("", "UTC") if read else not known:
            hint = "Write each time as a trigger of its own: `Every day at 8:00`."
            yield Finding(trigger.span, "no clock can start this trigger", hint, trigger.text)


def _beginning(text: str) -> tuple[str, str] | None:
    """A misspelt word of a trigger, and the corrected trigger, if that means the start."""
    if not text.lower().startswith(_ENGLISH):
        return None
    for start, end in words_of_text(text).places:
        word = text[start:end]
        if len(word) < _SHORTEST or word.lower() in _WORDS:
            continue
        for near in get_close_matches(word.lower(), _WORDS, n=2, cutoff=0.82):
            meant = text[:start] + near + text[end:]
            if trigger_kind(meant) is TriggerKind.BGN:
                return word, meant
    return None


def unseen_words(program: Program) -> Iterator[Finding]:
    """Playbooks that begin on events of other programs and say something to people, who see it nowhere."""
    if program.metadata.get(PLACE):
        return
    for agent in program.agents:
        for playbook in agent.playbooks:
            if any(event_trigger(trigger.text) for trigger in playbook.triggers) and _says(agent, playbook):
                message = f"nobody sees what {playbook.name} says to people: it begins on an event of another program"
                hint = f"Write `{PLACE}: team` between --- lines at the top, with the name of one of [tasks.places]."
                yield Finding(playbook.span, message, hint, playbook.name)


def _says(agent: AgentSpec, playbook: PlaybookSpec) -> bool:
    """Whether a playbook, or one of the same agent that it calls, says something to people."""
    known, left = {playbook.name}, [playbook]
    while left:
        text = _text(agent, left.pop())
        calls = [(found[1].removeprefix("self."), text[found.end() :]) for found in CALLED.finditer(text)]
        if any(name == "Say" and given.lstrip(" \"'").lower().startswith(_PEOPLE) for name, given in calls):
            return True
        left += [one for one in agent.playbooks if one.name in {name for name, _ in calls} - known]
        known |= {one.name for one in left}
    return False


def _text(agent: AgentSpec, playbook: PlaybookSpec) -> str:
    """The steps of a playbook, or its code."""
    if playbook.kind != "python":
        return "\n".join(step.text for step in playbook.walk_steps())
    nodes = (node for _, tree in python_of(agent) for node in tree.body)
    bodies = (getattr(node, "body", []) for node in nodes if getattr(node, "name", "") == playbook.name)
    return "\n".join(map(ast.unparse, next(bodies, [])))


class ReachabilityLint:
    """The playbooks of each agent of a program."""

    def __init__(self, program: Program, built_in: Collection[str], lines: SourceLines) -> None:
        self._lines = lines
        self._built_in = frozenset(built_in)
        keys = ("delivery_handler", "custom_handler")
        self._deliver = {str(agent.metadata.get(key)).rpartition(".")[2] for agent in program.agents for key in keys}

    def in_agent(self, agent: AgentSpec) -> Iterator[Finding]:
        """Playbooks without a trigger that no text of their agent names, in any form, and that nobody else can call."""
        by_name = {playbook.name: playbook for playbook in agent.playbooks}
        reached = {one.name for one in agent.playbooks if one.public or _begins(one)}
        if not reached:
            return
        considering = {str(one.metadata.get("before_joining")) for one in agent.playbooks}
        reached |= (considering | self._deliver) & by_name.keys()
        outside = _Text.of([agent.description, *_python(agent)])
        reached |= {name for name in by_name if outside.names(name)}
        if not _follow(by_name, reached, self._lines):
            return
        for playbook in agent.playbooks:
            if playbook.name not in reached | self._built_in:
                hint = "Call it in a step, give it a trigger, or make it public."
                yield Finding(playbook.span, f"nothing reaches the playbook {playbook.name}", hint, playbook.name)


def _follow(by_name: Mapping[str, PlaybookSpec], reached: set[str], lines: SourceLines) -> bool:
    """Add the playbooks that reached ones name; False if one of them lets a model choose among all."""
    todo = list(reached)
    while todo:
        playbook = by_name[todo.pop()]
        if playbook.kind == "llm" and playbook.mode == "react":
            return False
        text = _Text.of(_texts(playbook, lines))
        found = {name for name in by_name.keys() - reached if text.names(name)}
        reached |= found
        todo += found
    return True


def _texts(playbook: PlaybookSpec, lines: SourceLines) -> list[str]:
    """The texts of a playbook, with its steps also in their author's words."""
    written = (as_written(step.span, lines) for step in playbook.walk_steps())
    return [*playbook.description.splitlines(), *playbook.texts, *written]


def _python(agent: AgentSpec) -> Iterator[str]:
    """The names and texts in the agent's Python. The definition of a function does not name it."""
    for node in nodes_of(agent):
        match node:
            case ast.Name(id=text) | ast.Attribute(attr=text) | ast.Constant(value=str(text)):
                yield text


class _Text(Struct, frozen=True):
    """The names in some texts: unchanged words, their stems, and the stems of each text."""

    words: frozenset[str]
    stems: frozenset[str]
    sentences: tuple[frozenset[str], ...]

    @classmethod
    def of(cls, texts: list[str]) -> _Text:
        sentences = tuple(frozenset(map(_stem, NAME_PART.findall(text))) for text in texts)
        words = frozenset(word for text in texts for word in WORD.findall(text))
        return cls(words, frozenset().union(*sentences), sentences)

    def names(self, name: str) -> bool:
        """Whether a playbook is named, in code or in words."""
        parts = {_stem(part) for part in NAME_PART.findall(name)} - _LITTLE
        if name in self.words:
            return True
        return bool(parts) and parts <= self.stems and any(parts <= sentence for sentence in self.sentences)


def _stem(word: str) -> str:
    """A word without inflectional endings."""
    said = word.casefold()
    return next((said.removesuffix(end) for end in ("ing", "ed", "es", "s", "e") if said.endswith(end)), "") or said
