"""What the crash rig needs to know of a program."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from runtime.core.address import Address
from runtime.language.program import Program
from runtime.sessions.node_context import Busy
from runtime.tape.tape import Fact
from tests.fakes.people.player import Plays


@dataclass(frozen=True)
class Answer:
    """What is answered to a question that has the words `to` in it, when `heard` is in what was heard last."""

    to: str
    text: str
    heard: str = ""


@dataclass(frozen=True)
class Case:
    """A program, what the model answers, what people say, and what must be seen in the end.

    `replies` are those of the playbook that begins, of which a program in Python has none, `others` one reply each of
    playbooks that are called by name, and `reacts` the replies of others by the first of these words that they heard.
    `mended` is the reply after a statement failed, `refused` a statement that is left out once it was refused.
    People do one thing after the other, each when all is quiet: "edit:m1:text", "press:1" (the second choice of the
    last question), "order:meeting:end" (a command with its argument), "by:Bo:text" (somebody else does any of these) or
    just a text. What begins with "!" is done at once, while the agents are at work,
    with "?" when a task asks.
    """

    program: Program
    people: tuple[str, ...]
    seen: tuple[str, ...]
    replies: tuple[tuple[str, ...], ...] = ()
    others: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    in_order: bool = True
    busy: Busy = "queue"
    loose: bool = False
    """How far the work comes depends on the moment: `seen` must be there once, and everything heard once."""
    reacts: Mapping[str, Mapping[str, tuple[str, ...]]] = field(default_factory=dict)
    mended: tuple[str, ...] = ()
    refused: str = ""
    answers: tuple[Answer, ...] = ()
    """What is answered to questions: the first that fits."""
    told: tuple[tuple[str, str, str], ...] = ()
    """What a model answers that is asked while the program is walked: patterns of the task and of what was heard last,
    and the answer. The first that fits counts."""
    calls: tuple[str, ...] = ()
    """Calls of playbooks that must have been made, each with its arguments, in their order, and no others."""
    alone: bool = False
    """The model is a small one: it is asked one question at a time."""
    piece_s: float = 0.0
    """How long the model takes for each piece of an answer."""
    task_places: Mapping[str, Address] = field(default_factory=dict)
    """Conversations that may be told what came of a task."""
    places: bool = False
    """Whether it is remembered which conversations belong to a session that lives elsewhere."""
    plays: Plays = lambda _content: ()
    """What somebody in another process does."""


def calls_in(facts: Iterable[Fact]) -> tuple[str, ...]:
    """The playbooks that were called by others, as `Case.calls` has them."""
    started = [fact.data for fact in facts if fact.kind == "start" and fact.data.get("up")]
    return tuple(f"{data['pb']}({', '.join(f'{k}={v}' for k, v in data['kwargs'].items())})" for data in started)
