"""What the crash rig needs to know of a program."""

from __future__ import annotations

from dataclasses import dataclass

from runtime.language.program import Program
from runtime.sessions.surroundings import Busy
from tests.fakes.player import Plays


@dataclass(frozen=True)
class Answer:
    """What is answered to a question that has the words `to` in it, when `heard` is in what was heard last."""

    to: str
    text: str
    heard: str = ""


@dataclass(frozen=True)
class Case:
    """A program, what the model answers, what people say, and what must be seen in the end.

    `replies` are those of the playbook that begins, `others` one reply each of playbooks that are called by name, and
    `reacts` the replies of others by a word that they heard. `mended` is the reply after a statement failed, `refused`
    a statement that is left out once it was refused.
    People do one thing after the other, each when all is quiet: "edit:m1:text", "press:1" (the second choice of the
    last question), "order:meeting:end" (a command with its argument), "by:Bo:text" (somebody else does any of these) or
    just a text. What begins with "!" is done at once, while the agents are at work.
    """

    program: Program
    replies: tuple[tuple[str, ...], ...]
    people: tuple[str, ...]
    seen: tuple[str, ...]
    others: tuple[tuple[str, tuple[str, ...]], ...] = ()
    in_order: bool = True
    busy: Busy = "queue"
    loose: bool = False
    """How far the work comes depends on the moment: `seen` must be there once, and everything heard once."""
    reacts: tuple[tuple[str, tuple[tuple[str, tuple[str, ...]], ...]], ...] = ()
    mended: tuple[str, ...] = ()
    refused: str = ""
    answers: tuple[Answer, ...] = ()
    """What is answered to questions: the first that fits."""
    plays: Plays = lambda _content: ()
    """What somebody in another process does."""
