"""A talk as it is written: what people do, what models answer, and what must follow."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import lru_cache
from pathlib import Path
from typing import Any, TypeAlias

from runtime.language.instructions.expression import Expression

START = datetime(2026, 1, 5, 9, 0, tzinfo=UTC)
"""When a talk begins that says nothing else: a Monday."""

_GAP = re.compile(r"\s*(?:…|\.\.\.)\s*")
_REGULAR = re.compile(r"/(.+)/", re.DOTALL)


@dataclass(frozen=True, slots=True)
class ExpectedWording:
    """Words that are looked for: exact ones, in which `…` stands for any text with the blanks beside it, or a regular
    expression between slashes, which is searched for in any case. What is not `whole` may have more words around it."""

    text: str
    whole: bool = True

    def fits(self, seen: str) -> bool:
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


def check_wording(wording: ExpectedWording) -> str | None:
    """What is wrong with the regular expression in a wording; None for nothing."""
    try:
        _compiled(wording)
    except re.error as error:
        return str(error)
    return None


def _even(text: str) -> str:
    """A text without blanks at both ends of its lines."""
    return "\n".join(line.strip() for line in text.strip().splitlines())


@dataclass(frozen=True, slots=True)
class PersonLine:
    """A person says something, perhaps with files; `at_once`, without waiting until the agents have nothing more to
    say."""

    line: int
    who: str
    text: str
    at_once: bool = False
    files: tuple[Path, ...] = ()

    def __str__(self) -> str:
        if not self.files:
            return f"{self.who}: {self.text}"
        names = ", ".join(path.name for path in self.files)
        return f"{self.who} sends {names}: {self.text}" if self.text else f"{self.who} sends {names}"


@dataclass(frozen=True, slots=True)
class PressedChoice:
    """A person presses a choice of the last open question that has it."""

    line: int
    who: str
    label: str
    at_once: bool = False

    def __str__(self) -> str:
        return f"{self.who} presses {self.label}"


@dataclass(frozen=True, slots=True)
class TimePassed:
    """Time passes, or it is a certain time; `at_once`: also of short pauses that pass by themselves."""

    line: int
    seconds: float = 0.0
    until: datetime | None = None
    words: str = ""
    at_once: bool = False

    def __str__(self) -> str:
        return self.words


@dataclass(frozen=True, slots=True)
class PlayedAnswer:
    """An agent in another process, which the talk plays, answers what it heard last."""

    line: int
    who: str
    text: str
    at_once: bool = False

    def __str__(self) -> str:
        return f"{self.who}: {self.text}"


@dataclass(frozen=True, slots=True)
class ArrivingEvent:
    """An event of another program arrives, from the client `source`."""

    line: int
    type: str
    source: str
    data: Any = None
    at_once: bool = False

    def __str__(self) -> str:
        written = "" if self.data is None else f" {json.dumps(self.data, ensure_ascii=False)}"
        return f"event: {self.type} from {self.source}{written}"


@dataclass(frozen=True, slots=True)
class ProgramAnswer:
    """Another program answers the oldest question of what its events began; `source` is "" for whichever is asked."""

    line: int
    text: str
    source: str = ""
    at_once: bool = False

    def __str__(self) -> str:
        return f"answer{f' from {self.source}' if self.source else ''}: {self.text}"


Act: TypeAlias = PersonLine | PressedChoice | TimePassed | PlayedAnswer | ArrivingEvent | ProgramAnswer
"""What moves a talk on."""


@dataclass(frozen=True, slots=True)
class ScriptedReply:
    """The scripted model's answer to a question of agent `by` in which the words `to` occur, "" for any. A reply in
    `words` is none to a question for a value. One for `always` stands for the rest of the talk. One `after` words is
    none before the model was told of them."""

    line: int
    text: str
    to: str = ""
    by: str = ""
    words: bool = False
    always: bool = False
    after: str = ""


@dataclass(frozen=True, slots=True)
class ExpectedWords:
    """An agent shows people these words, or Parley does."""

    line: int
    who: str
    wording: ExpectedWording
    written: bool = False
    """Whether the words are the scripted model's, too."""

    def __str__(self) -> str:
        return f"{self.who}: {self.wording}"


@dataclass(frozen=True, slots=True)
class TranscriptGap:
    """Anything may be shown here."""

    line: int

    def __str__(self) -> str:
        return "…"


@dataclass(frozen=True, slots=True)
class HeardByAny:
    """These words are shown by anybody."""

    line: int
    wording: ExpectedWording

    def __str__(self) -> str:
        return f"the words {self.wording}"


@dataclass(frozen=True, slots=True)
class ExpectedStep:
    """A step is reached; `line_number` is its number in PBAsm, "" for any of the playbook."""

    line: int
    agent: str
    playbook: str
    number: str

    def __str__(self) -> str:
        return f"step {self.agent}.{self.playbook}{f':{self.number}' if self.number else ''}"


@dataclass(frozen=True, slots=True)
class ExpectedCall:
    """A playbook is called; with these `arguments`, or any where there are none, and the `defaults` of the others.
    `open_end`: the others may be anything."""

    line: int
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


@dataclass(frozen=True, slots=True)
class ExpectedCondition:
    """A condition on variables of an agent, "" for the first."""

    line: int
    agent: str
    words: str
    test: Expression = field(compare=False)

    def __str__(self) -> str:
        return f"{self.agent}.{self.words}" if self.agent else self.words


@dataclass(frozen=True, slots=True)
class ExpectedEnd:
    """The program ends."""

    line: int

    def __str__(self) -> str:
        return "the end of the program"


@dataclass(frozen=True, slots=True)
class ExpectedFailure:
    """A playbook fails with an error that nobody catches and that has these words."""

    line: int
    wording: ExpectedWording

    def __str__(self) -> str:
        return f"the failure {self.wording}"


@dataclass(frozen=True, slots=True)
class ExpectedChoices:
    """A question offers these choices."""

    line: int
    labels: tuple[str, ...]

    def __str__(self) -> str:
        return f"the choices {', '.join(self.labels)}"


@dataclass(frozen=True, slots=True)
class JudgedSentence:
    """A sentence about what was said, which a model judges. It is true where `exact` words were said."""

    line: int
    words: str
    exact: ExpectedWords | None = None

    def __str__(self) -> str:
        return f"judge: {self.words}" if self.exact is None else f"{self.exact}\n(or the same in other words)"


@dataclass(frozen=True, slots=True)
class ExpectedTelling:
    """An agent in another process is told something with these words."""

    line: int
    agent: str
    wording: ExpectedWording

    def __str__(self) -> str:
        return f"{self.agent} hears {self.wording}"


@dataclass(frozen=True, slots=True)
class WorkReturns:
    """The work that an event began gives a result with these words."""

    line: int
    wording: ExpectedWording

    def __str__(self) -> str:
        return f"the result {self.wording}"


Fact: TypeAlias = (
    WorkReturns
    | ExpectedTelling
    | HeardByAny
    | ExpectedStep
    | ExpectedCall
    | ExpectedCondition
    | ExpectedEnd
    | ExpectedFailure
    | ExpectedChoices
    | JudgedSentence
)
"""What `expect:` asks for, and `never:` forbids."""


@dataclass(frozen=True, slots=True)
class TalkTurn:
    """An act of somebody, and all that belongs to it until the next act. Without an act it is the
    beginning."""

    act: Act | None
    replies: tuple[ScriptedReply, ...] = ()
    shown: tuple[ExpectedWords | TranscriptGap, ...] = ()
    expected: tuple[Fact, ...] = ()


@dataclass(frozen=True, slots=True)
class TalkScript:
    """One talk. `never` is forbidden all through it."""

    title: str
    line: int
    beats: tuple[TalkTurn, ...]
    never: tuple[Fact, ...] = ()

    @property
    def scripted(self) -> bool:
        return any(beat.replies for beat in self.beats)

    @property
    def people(self) -> tuple[str, ...]:
        acts = [beat.act for beat in self.beats]
        return tuple(dict.fromkeys(act.who for act in acts if isinstance(act, PersonLine | PressedChoice)))


@dataclass(frozen=True, slots=True)
class TalkHead:
    """The lines between `---` at the top of a talk file. `people` are ids by the names that people show."""

    programs: tuple[Path, ...]
    start: datetime = START
    people: Mapping[str, str] = field(default_factory=dict)
    group: bool = False


@dataclass(frozen=True, slots=True)
class TalkFile:
    path: Path
    head: TalkHead
    talks: tuple[TalkScript, ...]
