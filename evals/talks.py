"""Talk files: what people say to a program, and what must and must not come of it."""

from __future__ import annotations

import ast
import re
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Self

from msgspec import Struct
from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, ValidationError

PERSON = "Ada"
"""Who says the lines that name nobody."""


class TalkRejected(Exception):
    """A talk file that cannot be used; the text says which, where and why."""


class Call(Struct, frozen=True):
    """A call of a Python playbook, with its arguments by name. `agent` is "" where it may be any agent's."""

    playbook: str
    arguments: Mapping[str, Any]
    agent: str = ""

    def __str__(self) -> str:
        prefix = f"{self.agent}." if self.agent else ""
        return f"{prefix}{self.playbook}({', '.join(f'{name}={value!r}' for name, value in self.arguments.items())})"


def read_call(text: str) -> Call:
    """`Agent.Playbook(name=literal, …)`, the agent may be left out. Raises ValueError for anything else."""
    try:
        tree = ast.parse(text, mode="eval").body
    except SyntaxError:
        tree = None
    if not isinstance(tree, ast.Call) or tree.args or any(keyword.arg is None for keyword in tree.keywords):
        raise ValueError(f"{text!r} is not a call such as LookUpOrder(order_id='123')")
    agent, _, playbook = ast.unparse(tree.func).rpartition(".")
    return Call(playbook, {keyword.arg or "": ast.literal_eval(keyword.value) for keyword in tree.keywords}, agent)


def _pattern(text: str) -> str:
    try:
        re.compile(text)
    except re.error as error:
        raise ValueError(f"{text!r} is not a regular expression: {error}") from error
    return text


def _call(text: str) -> str:
    read_call(text)
    return text


def _text(given: Any) -> Any:
    return {"text": given} if isinstance(given, str) else given


Pattern = Annotated[str, AfterValidator(_pattern)]
"""A regular expression, searched for in what people see, in any case."""

CallText = Annotated[str, AfterValidator(_call)]


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)


class Line(_Strict):
    """What a person says when the session waits for one.

    Before the next line `answered` must occur in what people see, in any order, and `never` must not.
    """

    text: str
    by: str = PERSON
    answered: list[Pattern] = []
    never: list[Pattern] = []


class Reply(_Strict):
    """What a scripted model answers to a question of `by`, an agent; "" is any. `to` must occur in the question.

    Tests try others in its place: `also` are right, `wrong` make the run wrong. So do `lies`, words for people; they
    change nothing of what is called.
    """

    text: str
    to: Pattern = ""
    by: str = ""
    also: list[str] = []
    wrong: list[str] = []
    lies: list[str] = []


class Expected(_Strict):
    """The checks. What a talk file leaves out is not checked.

    `opens` must occur in what people see before anybody has said anything, in any order; `said` in all that they see,
    in this order, `said_anywhere` in any, `never` not at all. `called` are all calls of Python playbooks, in their
    order; `never_called` names playbooks, or one call with its arguments. `variables` are those of the first agent at
    the end, or `"Agent.name"`; `variables_match` are regular expressions for the text of their whole value. `spoke`
    are agents that people must have heard.
    """

    ends: bool | None = None
    opens: list[Pattern] = []
    said: list[Pattern] = []
    said_anywhere: list[Pattern] = []
    never: list[Pattern] = []
    called: list[CallText] | None = None
    never_called: list[str] = []
    variables: dict[str, Any] = {}
    variables_match: dict[str, Pattern] = {}
    spoke: list[str] = []
    max_messages: int | None = Field(default=None, ge=1)


class Talk(_Strict):
    """A talk file. `replies` are what a scripted model answers, one question after the other; None: none were written.

    `title` is what the program tries.
    """

    title: str
    lines: list[Annotated[Line, BeforeValidator(_text)]] = []
    replies: list[Annotated[Reply, BeforeValidator(_text)]] | None = None
    expect: Expected

    @classmethod
    def read(cls, file: Path) -> Self:
        """The talk in `file`. Raises TalkRejected."""
        try:
            return cls.model_validate(tomllib.loads(file.read_text(encoding="utf-8")))
        except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
            raise TalkRejected(f"{file.name}: {error}") from error
        except ValidationError as error:
            problems = [f"{'.'.join(map(str, one['loc']))}: {one['msg']}" for one in error.errors()]
            raise TalkRejected(f"{file.name}: {'; '.join(problems)}") from error


class Case(Struct, frozen=True):
    """A program and its talk."""

    name: str
    program: Path
    talk: Talk

    @property
    def unseen(self) -> bool:
        """Whether nobody looks at it while wording is tuned."""
        return self.program.parent.name == "unseen"


def cases(*folders: Path, only: str = "") -> list[Case]:
    """Every program of the folders with the talk beside it, by name; those whose name contains one of `only`, a list
    with commas.

    Raises TalkRejected for a program without a talk, a talk without a program, and a talk that cannot be used.
    """
    programs = {file.stem: file for folder in folders for file in folder.glob("*.pb")}
    talks = {file.stem: file for folder in folders for file in folder.glob("*.toml")}
    if alone := sorted(programs.keys() ^ talks.keys()):
        raise TalkRejected(f"a .pb and a .toml belong together; one of them is missing: {', '.join(alone)}")
    wanted = [part.strip() for part in only.split(",") if part.strip()]
    names = [name for name in sorted(programs) if not wanted or any(part in name for part in wanted)]
    return [Case(name, programs[name], Talk.read(talks[name])) for name in names]
