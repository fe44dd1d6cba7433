"""The items of a talk: one line each, and the lines that are indented below it."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from difflib import get_close_matches
from pathlib import Path
from textwrap import dedent
from typing import TypeAlias

from msgspec import Struct, field

from gateway.talks import talk as forms
from gateway.talks.parsing.expectations import FactReader, WrongItem, check_regular
from runtime.core.address import GATEWAY
from runtime.core.cloud_event import event_from, matches
from runtime.language.diagnostics import DiagnosticList, SourceLine
from runtime.language.event_triggers import begun_on_events
from runtime.language.program import AgentKind, Program

Items: TypeAlias = Sequence[
    forms.TalkAct | forms.ScriptedReply | forms.ExpectedWords | forms.TranscriptGap | forms.TalkFact
]
"""What an item says: nothing where it is wrong, two things for words that a model writes."""

_KEYWORDS = ("model", "expect", "never", "judge", "wait", "event", "answer")
_MARKER = re.compile(r"\s*(?:[-*+]|\d+[.)])\s+")
_BOLD = re.compile(r"\A\*\*(.+?)(:?)\*\*(:?)")
_GAP = re.compile(r"(?:…|\.\.\.)$")
_MODEL = re.compile(
    r'model(?P<always>\s+always)?(?:\s+as\s+(?P<by>[^:"]+?))?(?:\s+to\s+"(?P<to>[^"]*)")?'
    r'(?:\s+after\s+"(?P<after>[^"]*)")?\s*:\s*(?P<text>.*)$',
    re.IGNORECASE,
)
_FACT = re.compile(r"(?P<how>expect|never)\b\s*:?\s*(?P<what>.*)$", re.IGNORECASE)
_JUDGE = re.compile(r"judge\b\s*:?\s*(?P<what>.*)$", re.IGNORECASE)
_WAIT = re.compile(r"wait\b\s*:?\s*(?P<time>.*)$", re.IGNORECASE)
_EVENT = re.compile(
    r"event(?P<now>,\s*at once)?\s*:\s*(?P<type>[^\s{\[\"]*)(?:\s+from\s+(?P<source>[^\s{\[\"]+))?\s*(?P<data>.*)$",
    re.IGNORECASE | re.DOTALL,
)
_ANSWER = re.compile(
    r"answer(?P<now>,\s*at once)?(?:\s+from\s+(?P<source>[^\s:]+))?\s*:\s*(?P<text>.*)$", re.IGNORECASE
)
_PRESS = re.compile(r'(?P<who>[^:"]{1,80}?)(?P<now>,\s*at once)?\s+press(?:es)?\b\s*:?\s*(?P<label>.+)$', re.IGNORECASE)
_SENDS = re.compile(
    r'(?P<who>[^:"]{1,80}?)(?P<now>,\s*at once)?\s+sends?\b\s*:?\s*(?P<files>[^:]+?)(?::(?:\s+|$)(?P<text>.*))?$',
    re.IGNORECASE,
)
_WRITES = re.compile(r'(?P<who>[^:"]{1,80}?)\s+writes\s*:\s*(?P<text>.*)$', re.IGNORECASE)
_SAYS = re.compile(r'(?P<who>[^:"]{1,80}?)(?P<now>,\s*at once)?\s*:(?:\s+|$)(?P<text>.*)$', re.IGNORECASE)
_DURATION = re.compile(r"(\d+(?:\.\d+)?)\s*(s|seconds?|m|min|minutes?|h|hours?|d|days?|w|weeks?)\b\s*(?:and\s+|,\s*)?")
_UNIT_S = {"s": 1, "m": 60, "h": 3600, "d": 86_400, "w": 604_800}
_MAX_NAME_WORDS = 4
_MAX_WAIT_S = 400 * 86_400
_LINES = (
    "Lines are: `Name: words`, `Agent writes: words`, `Name presses Choice`, `model: answer`, `expect: …`, `never: …`, "
    '`wait 10 minutes`, `event: stock.low from shop {"item": "tea"}`.'
)


class TalkProblems(DiagnosticList):
    """The errors in talks; where nothing else is said, at the first character of an item's text."""

    def at(self, line: SourceLine, message: str, *, column: int | None = None, hint: str = "", width: int = 0) -> None:
        marker = _MARKER.match(line.text)
        if column is None and marker is not None and marker.end() < len(line.text):
            column = marker.end() + 1
        super().at(line, message, column=column, hint=hint, width=width)


class TalkItem(Struct):
    """An item of a list, and the lines below it that belong to it."""

    line: SourceLine
    first: str
    more: list[str] = field(default_factory=list)
    forbids: bool = False

    def fenced(self) -> str | None:
        """What is in a fence that stands alone below the first line; None without one."""
        below = dedent("\n".join(self.more)).strip("\n").rstrip()
        found = re.fullmatch(r"(`{3,}|~{3,})[^\n]*\n(.*?)\n?\1", below, re.DOTALL)
        return None if found is None else found[2]

    def text(self, first: str) -> str:
        """The item's text from `first`, the rest of its line, on. A fence alone is what is in it."""
        below = dedent("\n".join(self.more)).rstrip()
        below = below if first else below.lstrip("\n")
        fenced = None if first else self.fenced()
        if fenced is not None:
            return fenced
        return "\n".join(part for part in (first, below) if part)


class ItemReader:
    """Reads the items of the talks about one program; what is wrong becomes a problem."""

    def __init__(self, program: Program, head: forms.TalkHead, problems: DiagnosticList) -> None:
        self._problems = problems
        self._head = head
        people = {agent.name for agent in program.agents if agent.kind is AgentKind.HUMAN}
        self._people = {_folded(name) for name in (*people, *head.people)}
        self._agents = {_folded(agent.name): agent.name for agent in program.agents if agent.name not in people}
        self._agents[_folded(GATEWAY.name)] = GATEWAY.name
        self._played = {agent.name for agent in program.agents if agent.kind is AgentKind.REMOTE}
        self._facts = FactReader(program)
        self._patterns = [one.pattern for one in begun_on_events(program.name, program)]
        self._forms: Sequence[tuple[re.Pattern[str], Callable[[TalkItem, re.Match[str]], Items]]] = (
            (_GAP, lambda item, _: [forms.TranscriptGap(item.line.number)]),
            (_MODEL, self._model),
            (_FACT, self._fact),
            (_JUDGE, self._judge),
            (_WAIT, self._wait),
            (_EVENT, self._event),
            (_ANSWER, self._answer),
            (_WRITES, self._writes),
            (_PRESS, self._press),
            (_SENDS, self._sends),
            (_SAYS, self._says),
        )

    def read(self, item: TalkItem) -> Items:
        try:
            return self._read(item)
        except WrongItem as wrong:
            self._problems.at(item.line, str(wrong), column=wrong.column, hint=wrong.hint, width=wrong.width)
            return ()

    def _read(self, item: TalkItem) -> Items:
        text = _BOLD.sub(lambda found: f"{found[1]}{found[2] or found[3]}", item.first, count=1)
        for form, read in self._forms:
            found = form.match(text)
            if found is not None:
                return read(item, found)
        word = re.match(r"\w+", text)
        near = get_close_matches(word[0].lower(), _KEYWORDS, n=1, cutoff=0.7) if word else []
        hint = f"Did you mean `{near[0]}`? {_LINES}" if near else _LINES
        what = "this item is empty" if not text else "nobody says this, and it is no line of a talk"
        raise WrongItem(what, hint=hint)

    # -- what people do

    def _says(self, item: TalkItem, found: re.Match[str]) -> Items:
        who, number = found["who"].strip(), item.line.number
        agent = self._agents.get(_folded(who))
        if agent in self._played:
            return [forms.PlayedAnswer(number, agent, item.text(found["text"]), at_once=found["now"] is not None)]
        if agent is not None:
            return self._shown(item, agent, found["text"], written=False)
        self._check_person(who)
        text = item.text(found["text"])
        if not text:
            raise WrongItem(f"{who} says nothing", hint="Write the words behind the colon.")
        return [forms.PersonLine(number, who, text, at_once=found["now"] is not None)]

    def _press(self, item: TalkItem, found: re.Match[str]) -> Items:
        who, label = found["who"].strip(), found["label"].strip()
        if _folded(who) in self._agents:
            raise WrongItem(f"{who} is an agent, and presses nothing")
        self._check_person(who)
        if len(label) > 1 and label[0] == label[-1] == '"':
            label = label[1:-1]
        return [forms.PressedChoice(item.line.number, who, label, at_once=found["now"] is not None)]

    def _sends(self, item: TalkItem, found: re.Match[str]) -> Items:
        who = found["who"].strip()
        if _folded(who) in self._agents:
            hint = f"What an agent sends stands with its words: {who}: [receipt.pdf]"
            raise WrongItem(f"{who} is an agent, whose files are no act of a talk", hint=hint)
        self._check_person(who)
        files = [Path(item.line.file).parent / name.strip() for name in found["files"].split(",")]
        for file in files:
            if not file.is_file():
                near = get_close_matches(file.name, [one.name for one in file.parent.glob("*")], n=1)
                hint = f"Did you mean {near[0]}?" if near else "The path is looked for beside the talk."
                raise WrongItem(f"there is no file {file}", hint=hint)
        text, at_once = item.text(found["text"] or ""), found["now"] is not None
        return [forms.PersonLine(item.line.number, who, text, tuple(files), at_once=at_once)]

    def _event(self, item: TalkItem, found: re.Match[str]) -> Items:
        written = item.text(found["data"].strip())
        try:
            data = json.loads(written) if written else None
            event = event_from({"id": "1", "type": found["type"], "data": data}, source="", now=self._head.start)
        except ValueError as error:
            what = "the data is no JSON" if isinstance(error, json.JSONDecodeError) else str(error)
            raise WrongItem(what, hint='Write `event: stock.low from shop {"item": "tea"}`.') from error
        if not any(matches(pattern, event.type) for pattern in self._patterns):
            known = ", ".join(dict.fromkeys(self._patterns))
            hint = f"It begins on: {known}." if known else "Its trigger is `When the event stock.low arrives`."
            raise WrongItem(f"no playbook begins on the event {event.type}", hint=hint)
        name = found["source"] or "test"
        return [forms.ArrivingEvent(item.line.number, event.type, name, data, at_once=found["now"] is not None)]

    def _answer(self, item: TalkItem, found: re.Match[str]) -> Items:
        text = item.text(found["text"])
        if not text:
            raise WrongItem("the answer is empty", hint="Write `answer: left` or `answer from shop: left`.")
        if not self._patterns:
            hint = "Its trigger is `When the event stock.low arrives`. People answer with `Name: words`."
            raise WrongItem("no playbook of this program begins on an event", hint=hint)
        return [forms.ProgramAnswer(item.line.number, text, found["source"] or "", at_once=found["now"] is not None)]

    def _check_person(self, who: str) -> None:
        """Raise WrongItem for a name that is no person's: a slip in that of an agent, or in a word of talks."""
        if _folded(who) in self._people:
            return
        known = {**self._agents, **{word: word for word in _KEYWORDS}}
        near = get_close_matches(_folded(who), list(known), n=1, cutoff=0.8)
        if near:
            meant = f"Did you mean `{known[near[0]]}`?"
            hint = f"{meant} If a person is called {who}, write between --- lines at the top: people: {who}"
            raise WrongItem(f"{who} is no agent of the program", hint=hint, width=len(who))
        if len(who.split()) > _MAX_NAME_WORDS:
            raise WrongItem("nobody says this, and it is no line of a talk", hint=_LINES)

    def _wait(self, item: TalkItem, found: re.Match[str]) -> Items:
        words = found["time"].strip().rstrip(".")
        number, asked = item.line.number, f"wait {words}"
        length = words.removeprefix("only ").removeprefix("for ").strip()
        if length.startswith("until "):
            due = self._time(length.removeprefix("until ").strip())
            if due is not None:
                return [forms.TimePassed(number, until=due, words=asked)]
        else:
            seconds = _seconds(length)
            if seconds is not None and 0 < seconds <= _MAX_WAIT_S:
                return [forms.TimePassed(number, seconds, words=asked, at_once=words.startswith("only "))]
        hint = "Write `wait 10 minutes`, `wait 1 hour and 30 seconds` or `wait until 09:30`; at most 400 days."
        raise WrongItem(f"“{words}” is no time" if words else "no time is given", hint=hint)

    def _time(self, words: str) -> datetime | None:
        """A point in time; a time of the day is of the first day, or of the days after it."""
        try:
            if re.fullmatch(r"\d{1,2}:\d{2}(:\d{2})?", words):
                of_day = datetime.strptime(words, "%H:%M" if words.count(":") == 1 else "%H:%M:%S").time()  # noqa: DTZ007
                return datetime(1, 1, 1, of_day.hour, of_day.minute, of_day.second, tzinfo=UTC)
            found = datetime.fromisoformat(words)
        except ValueError:
            return None
        return found.replace(tzinfo=UTC) if found.tzinfo is None else found.astimezone(UTC)

    # -- what agents show, and models answer

    def _model(self, item: TalkItem, found: re.Match[str]) -> Items:
        by = "" if found["by"] is None else self._agent(found["by"])
        text = item.text(found["text"])
        if not text:
            raise WrongItem("the model answers nothing", hint="Write the answer behind the colon.")
        always = found["always"] is not None
        return [
            forms.ScriptedReply(
                item.line.number, text, found["to"] or "", by, always=always, after=found["after"] or ""
            )
        ]

    def _writes(self, item: TalkItem, found: re.Match[str]) -> Items:
        agent = self._agent(found["who"])
        shown = self._shown(item, agent, found["text"], written=True)
        return [forms.ScriptedReply(item.line.number, item.text(found["text"]), by=agent, words=True), *shown]

    def _shown(self, item: TalkItem, agent: str, first: str, *, written: bool) -> Items:
        wording = forms.ExpectedWording(item.text(first))
        if not wording.text:
            raise WrongItem(f"{agent} says nothing", hint="Write the words behind the colon.")
        check_regular(wording, item.line)
        return [forms.ExpectedWords(item.line.number, agent, wording, written)]

    def _agent(self, named: str) -> str:
        """An agent's name. Raises WrongItem for another one."""
        name = named.strip()
        if (agent := self._agents.get(_folded(name))) is not None:
            return agent
        near = get_close_matches(_folded(name), list(self._agents), n=1, cutoff=0.6)
        hint = f"Did you mean {self._agents[near[0]]}?" if near else f"Its agents are: {', '.join(self._named())}."
        raise WrongItem(f"{name} is no agent of the program", hint=hint)

    def _named(self) -> list[str]:
        return [name for name in self._agents.values() if name != GATEWAY.name]

    # -- what has to come of it

    def _fact(self, item: TalkItem, found: re.Match[str]) -> Items:
        item.forbids = found["how"].lower() == "never"
        what = found["what"].strip()
        words = item.fenced()
        if words is None:
            return [self._facts.read(item.line, item.text(what))]
        return [self._facts.read_words(item.line, what, words)]

    def _judge(self, item: TalkItem, found: re.Match[str]) -> Items:
        words = item.text(found["what"].strip())
        if not words:
            raise WrongItem("there is nothing to judge", hint="Write `judge: the answer names a price`.")
        return [forms.JudgedSentence(item.line.number, words)]


def _folded(name: str) -> str:
    """A name as it is compared: Order Helper is OrderHelper."""
    return "".join(name.split()).casefold()


def _seconds(words: str) -> float | None:
    """A duration in words: 1 hour and 30 minutes."""
    total_s, place = 0.0, 0
    while place < len(words):
        found = _DURATION.match(words, place)
        if found is None:
            return None
        total_s += float(found[1]) * _UNIT_S[found[2][0]]
        place = found.end()
    return total_s if place else None
