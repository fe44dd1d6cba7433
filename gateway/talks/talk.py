"""A talk as it is written: what people do, what models answer, and what must follow."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from datetime import UTC, datetime
from functools import lru_cache
from pathlib import Path
from typing import Any

from msgspec import Struct, field

from runtime.language.instructions.expression import Expression

START = datetime(2026, 1, 5, 9, 0, tzinfo=UTC)
"""When a talk begins that says nothing else: a Monday."""

_GAP = re.compile(r"\s*(?:…|\.\.\.)\s*")
_REGULAR = re.compile(r"/(.+)/", re.DOTALL)


class ExpectedWording(Struct, frozen=True):
    """Words that are looked for: exact ones, in which `…` stands for any text with the blanks beside it, or a regular
    expression between slashes, which is searched for in any case. What is not `whole` may have more words around it."""

    text: str
    whole: bool = True

    def fits(self, seen: str) -> bool:
        """Whether they are in a text. Raises re.error for a wrong expression."""
        return _compiled(self).search(_even(seen)) is not None

    @property
    def exact(self) -> bool:
        return self.whole and _REGULAR.fullmatch(self.text) is None and _GAP.search(self.text) is None

    def __str__(self) -> str:
        return self.text


@lru_cache(maxsize=1024)
def _compiled(wording: ExpectedWording) -> re.Pattern[str]:
    """The pattern of a wording. Raises re.error for a wrong expression."""
    regular = _REGULAR.fullmatch(wording.text)
    if regular is not None:
        return re.compile(regular[1], re.IGNORECASE)
    gaps = ".*".join(re.escape(part) for part in _GAP.split(_even(wording.text)))
    return re.compile(rf"\A{gaps}\Z" if wording.whole else gaps, re.DOTALL)


def _even(text: str) -> str:
    """A text without blanks at both ends of its lines."""
    return "\n".join(line.strip() for line in text.strip().splitlines())


class _Written(Struct, frozen=True):
    """What stands in a line of a talk."""

    line: int


class TalkAct(_Written, frozen=True, kw_only=True):
    """What moves a talk on; `at_once`, without waiting until the agents have nothing more to say."""

    at_once: bool = False


class PersonLine(TalkAct, frozen=True):
    """A person says something, perhaps with files; `at_once`, without waiting until the agents have nothing more to
    say."""

    who: str
    text: str
    files: tuple[Path, ...] = ()

    def __str__(self) -> str:
        if not self.files:
            return f"{self.who}: {self.text}"
        names = ", ".join(path.name for path in self.files)
        return f"{self.who} sends {names}: {self.text}" if self.text else f"{self.who} sends {names}"


class PressedChoice(TalkAct, frozen=True):
    """A person presses a choice of the last open question that has it."""

    who: str
    label: str

    def __str__(self) -> str:
        return f"{self.who} presses {self.label}"


class TimePassed(TalkAct, frozen=True):
    """Time passes, or it is a certain time; `at_once`: also of short pauses that pass by themselves."""

    seconds: float = 0.0
    until: datetime | None = None
    words: str = ""

    def __str__(self) -> str:
        return self.words


class PlayedAnswer(TalkAct, frozen=True):
    """An agent in another process, which the talk plays, answers what it heard last."""

    who: str
    text: str

    def __str__(self) -> str:
        return f"{self.who}: {self.text}"


class ArrivingEvent(TalkAct, frozen=True):
    """An event of another program arrives, from the client `source`."""

    type: str
    source: str
    data: Any = None

    def __str__(self) -> str:
        written = "" if self.data is None else f" {json.dumps(self.data, ensure_ascii=False)}"
        return f"event: {self.type} from {self.source}{written}"


class ProgramAnswer(TalkAct, frozen=True):
    """Another program answers the oldest question of what its events began; `source` is "" for whichever is asked."""

    text: str
    source: str = ""

    def __str__(self) -> str:
        return f"answer{f' from {self.source}' if self.source else ''}: {self.text}"


class ScriptedReply(_Written, frozen=True):
    """The scripted model's answer to a question of agent `by` in which the words `to` occur, "" for any. A reply in
    `words` is none to a question for a value. One for `always` stands for the rest of the talk. One `after` words is
    none before the model was told of them."""

    text: str
    to: str = ""
    by: str = ""
    words: bool = False
    always: bool = False
    after: str = ""


class ExpectedWords(_Written, frozen=True):
    """An agent shows people these words, or Parley does."""

    who: str
    wording: ExpectedWording
    written: bool = False
    """Whether the words are the scripted model's, too."""

    def __str__(self) -> str:
        return f"{self.who}: {self.wording}"


class TranscriptGap(_Written, frozen=True):
    """Anything may be shown here."""

    def __str__(self) -> str:
        return "…"


class TalkFact(_Written, frozen=True):
    """What `expect:` asks for, and `never:` forbids."""


class HeardByAny(TalkFact, frozen=True):
    """These words are shown by anybody."""

    wording: ExpectedWording

    def __str__(self) -> str:
        return f"the words {self.wording}"


class ExpectedStep(TalkFact, frozen=True):
    """A step is reached; `line_number` is its number in PBAsm, "" for any of the playbook."""

    agent: str
    playbook: str
    number: str

    def __str__(self) -> str:
        return f"step {self.agent}.{self.playbook}{f':{self.number}' if self.number else ''}"


class ExpectedCall(TalkFact, frozen=True):
    """A playbook is called; with these `arguments`, or any where there are none, and the `defaults` of the others.
    `open_end`: the others may be anything."""

    agent: str
    playbook: str
    arguments: Mapping[str, Any] | None = None
    open_end: bool = False
    defaults: Mapping[str, Any] = field(default_factory=dict)

    def __str__(self) -> str:
        name = f"{self.agent}.{self.playbook}" if self.agent else self.playbook
        if self.arguments is None:
            return f"call {name}"
        listed = [f"{key}={value!r}" for key, value in self.arguments.items()] + ["…"] * self.open_end
        return f"call {name}({', '.join(listed)})"


class ExpectedCondition(TalkFact, frozen=True):
    """A condition on variables of an agent, "" for the first."""

    agent: str
    words: str
    test: Expression

    def __str__(self) -> str:
        return f"{self.agent}.{self.words}" if self.agent else self.words


class ExpectedEnd(TalkFact, frozen=True):
    """The program ends."""

    def __str__(self) -> str:
        return "the end of the program"


class ExpectedFailure(TalkFact, frozen=True):
    """A playbook fails with an error that nobody catches and that has these words."""

    wording: ExpectedWording

    def __str__(self) -> str:
        return f"the failure {self.wording}"


class ExpectedChoices(TalkFact, frozen=True):
    """A question offers these choices."""

    labels: tuple[str, ...]

    def __str__(self) -> str:
        return f"the choices {', '.join(self.labels)}"


class JudgedSentence(TalkFact, frozen=True):
    """A sentence about what was said, which a model judges. It is true where `exact` words were said."""

    words: str
    exact: ExpectedWords | None = None

    def __str__(self) -> str:
        return f"judge: {self.words}" if self.exact is None else f"{self.exact}\n(or the same in other words)"


class ExpectedTelling(TalkFact, frozen=True):
    """An agent in another process is told something with these words."""

    agent: str
    wording: ExpectedWording

    def __str__(self) -> str:
        return f"{self.agent} hears {self.wording}"


class WorkReturns(TalkFact, frozen=True):
    """The work that an event began gives a result with these words."""

    wording: ExpectedWording

    def __str__(self) -> str:
        return f"the result {self.wording}"


class TalkTurn(Struct):
    """An act of somebody, and all that belongs to it until the next act. Without an act it is the
    beginning."""

    act: TalkAct | None
    replies: list[ScriptedReply] = field(default_factory=list)
    shown: list[ExpectedWords | TranscriptGap] = field(default_factory=list)
    expected: list[TalkFact] = field(default_factory=list)

    def add(self, one: ScriptedReply | ExpectedWords | TranscriptGap | TalkFact) -> None:
        if isinstance(one, ScriptedReply):
            self.replies.append(one)
        elif isinstance(one, ExpectedWords | TranscriptGap):
            self.shown.append(one)
        else:
            self.expected.append(one)


class TalkScript(Struct, frozen=True):
    """One talk. `never` is forbidden all through it."""

    title: str
    line: int
    beats: tuple[TalkTurn, ...]
    never: tuple[TalkFact, ...] = ()

    @property
    def scripted(self) -> bool:
        return any(beat.replies for beat in self.beats)

    @property
    def people(self) -> tuple[str, ...]:
        acts = [beat.act for beat in self.beats]
        return tuple(dict.fromkeys(act.who for act in acts if isinstance(act, PersonLine | PressedChoice)))


class TalkHead(Struct, frozen=True):
    """The lines between `---` at the top of a talk file. `people` are ids by the names that people show."""

    programs: tuple[Path, ...]
    start: datetime = START
    people: Mapping[str, str] = field(default_factory=dict)
    group: bool = False
