"""Instructions: the runtime's part in a line of PBAsm, and its questions to a model."""

from __future__ import annotations

from enum import StrEnum

from msgspec import Struct, field

from runtime.language.instructions.expression import Expression

_LETTERS = frozenset({"letter", "character", "char", "digit", "sign", "symbol", "c", "ch"})


class Prose(Struct, frozen=True):
    """An operand that only a model can interpret; the model gets the results of the `calls` in it."""

    text: str
    calls: tuple[Expression, ...] = ()


Operand = Expression | Prose


class Template(Struct, frozen=True):
    """Exact words: literal texts, with the values of expressions between them."""

    parts: tuple[str | Expression, ...]
    otherwise: str = ""
    """The text for a model if an expression names Python that the agent does not have."""

    @property
    def names(self) -> frozenset[str]:
        """The variables that it reads."""
        return frozenset().union(*(part.names for part in self.parts if isinstance(part, Expression)))


Words = Template | Prose


class VariableTarget(Struct, frozen=True):
    """The target of an assignment: a variable of the agent, or with `path` a part of it (`$order.items[0]`)."""

    name: str
    type: str = ""
    path: tuple[str | Expression, ...] = ()


class CallArgument(Struct, frozen=True):
    """An argument of a call; `name` is "" for one that is given by its position."""

    name: str
    value: Operand


class Say(Struct, frozen=True):
    """Say something to each of `targets`, and continue. Who `takes_part` in a meeting may also say nothing."""

    targets: tuple[str, ...]
    words: Words
    takes_part: bool = False


class Ask(Struct, frozen=True):
    """Say something, then wait until `sources` have answered and the wanted values are there; `until` ends the talk."""

    targets: tuple[str, ...]
    words: Words | None
    sources: tuple[str, ...]
    wants: tuple[VariableTarget, ...] = ()
    until: Operand | None = None
    takes_part: bool = False


class Call(Struct, frozen=True):
    """Call a playbook or a built-in; the result goes to `result`. `instruction` is prose about what it is for."""

    name: str
    arguments: tuple[CallArgument, ...] = ()
    result: VariableTarget | None = None
    instruction: str = ""


class Set(Struct, frozen=True):
    """Give variables a value. With `operator` ("+") the old value is the left operand."""

    variables: tuple[VariableTarget, ...]
    value: Operand
    operator: str = ""


class Think(Struct, frozen=True):
    """Have the model think before it continues; people do not see it."""

    about: Prose


class BranchSide(StrEnum):
    """The side of a branch that a condition starts."""

    IF = "if"
    ELSE_IF = "else if"
    ELSE = "else"


class Condition(Struct, frozen=True):
    """Execute what is below when `test` holds; None for a plain else. `of_failure`: it speaks of a failed call."""

    side: BranchSide
    test: Operand | None
    of_failure: bool = False


class LoopKind(StrEnum):
    """The end condition of a loop."""

    WHILE = "while"
    UNTIL = "until"
    EACH = "each"
    TIMES = "times"


class Loop(Struct, frozen=True):
    """Execute what is below again and again. `over` is the test, the items or the count. `variable` gets each item.
    `at_most` bounds the rounds. `body_first`: the test comes after each round. A round of a loop that `waits` begins
    when that source has said something."""

    kind: LoopKind
    over: Operand
    variable: VariableTarget | None = None
    at_most: int | None = None
    body_first: bool = False
    waits: str = ""

    @property
    def by_letters(self) -> bool:
        """Whether it goes through a text one letter after the other."""
        return self.variable is not None and self.variable.name in _LETTERS


class Jump(Struct, frozen=True):
    """Continue at a line, when `test` is true if there is one."""

    line: str
    test: Operand | None = None
    unless: bool = False


class Leave(Struct, frozen=True):
    """Leave the innermost loop, or continue with its next round."""

    next_round: bool = False


class Wait(Struct, frozen=True):
    """Wait for a message of each of `sources`."""

    sources: tuple[str, ...]


class Return(Struct, frozen=True):
    """The playbook ends with a value."""

    value: Operand | None = None


class End(Struct, frozen=True):
    """The program ends."""


class StepGroup(Struct, frozen=True):
    """A heading: the steps below it are executed."""

    text: str


class Free(Struct, frozen=True):
    """Everything else: a model carries it out with statements, fenced to this line. `why` says why it is free."""

    text: Prose
    why: str = "its meaning is left to the model"


Action = Say | Ask | Call | Set | Think | Wait | Return | End | StepGroup | Free | Jump | Leave
Meaning = Action | Condition | Loop


class Instruction(Struct, frozen=True):
    """A decoded line: its actions, in order. The last one decides where control goes next."""

    line: str
    op: str
    text: str
    parts: tuple[Meaning, ...]

    @property
    def head(self) -> Meaning:
        """The part that decides the kind of line."""
        return self.parts[0]

    @property
    def location(self) -> str:
        """Its line and code, as in `Main:<02.01:QUE>`."""
        return f"{self.line}:{self.op}"


class InstructionNode(Struct, frozen=True):
    """An instruction in its place. `below` are the lines below it, `beside` all lines of its own list."""

    instruction: Instruction
    parent: str | None
    below: tuple[str, ...]
    beside: tuple[str, ...]


class PlaybookCode(Struct, frozen=True):
    """The decoded steps of one playbook, by line."""

    nodes: dict[str, InstructionNode] = field(default_factory=dict)
    first: str | None = None
