"""Steps about tasks: "Start a Researcher on $topic in the background", "Wait for the research"."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import pairwise

from msgspec import Struct

from runtime.language.instructions.conditions.reading import in_symbols
from runtime.language.instructions.conditions.tokens import leading_tokens
from runtime.language.instructions.expression import Expression
from runtime.language.instructions.model import Call, CallArgument, Instruction
from runtime.language.instructions.text import CALL, KEYWORD, inside_of, split_at
from runtime.language.lowering import phrases
from runtime.language.lowering.clauses import joints, unquoted
from runtime.language.lowering.instruction import LoweredInstruction, free, waiting_call
from runtime.language.lowering.scope import Reach, same_name
from runtime.language.program import OpCode
from runtime.language.syntax.nodes import ParsedPlaybook
from runtime.language.syntax.signature import without_gaps
from runtime.language.vocabulary.phrase import phrase, words_of

_QUOTES = frozenset('"\u201c\u201d\u201e{}')

_STEM = 4
_ENDING = 3
"""How much longer a doer's name may be than the word for what is done: Researcher and "research"."""


class _Started(Struct, frozen=True):
    """A task that an earlier step orders; `under` are the lines of the conditions and loops that the step is in."""

    klass: str
    playbook: str
    variable: str | None
    under: tuple[str, ...]

    def is_called(self, words: str) -> bool:
        """Whether words such as "research" mean it."""
        word = without_gaps(words).casefold()
        doer, deed = self.klass.casefold(), self.playbook.casefold()
        stem = len(word) >= _STEM and doer.startswith(word) and len(doer) - len(word) <= _ENDING
        return stem or word in (doer, deed, f"{doer}'s{deed}", f"{doer}\u2019s{deed}")


class Background:
    """The rules for tasks in one playbook. What they are not sure of stays free."""

    def __init__(self, reach: Reach, partners: Sequence[str]) -> None:
        """`partners` are those who are spoken to, at any time."""
        self._reach = reach
        self._partners = partners
        self._under: tuple[str, ...] = ()
        self.started: list[_Started] = []
        """The tasks that the steps so far order, in their order."""

    def note(self, done: Instruction) -> None:
        """Note what a step does: it may order a task."""
        match done.head:
            case Call(
                "Spawn",
                (CallArgument(value=Expression() as first), CallArgument(value=Expression() as second), *_),
                result,
            ):
                klass, playbook = (in_symbols(one).strip("'\"") for one in (first, second))
                self.started.append(_Started(klass, playbook, result.name if result else None, self._under))

    @contextmanager
    def inside(self, line: str | None) -> Iterator[None]:
        """The steps below the condition or loop at `line`; None for those below something else."""
        before = self._under
        self._under = before if line is None else (*before, line)
        yield
        self._under = before

    def starting(self, text: str, bare: str) -> LoweredInstruction | None:
        """ "Start a Researcher on $topic in the background": a task, if one playbook is meant for certain."""
        given, rest = phrases.given_to(bare)
        around = phrase("in the background").inside(unquoted(rest))
        if around is None:
            return None
        said = f"{rest[: around.start()].rstrip(' ,')} {rest[around.end() :].strip()}"
        ordered = phrase("start a task").begins(said.strip())
        if ordered is None:
            return None
        what = ordered["what"].strip().rstrip(".; ")
        if given is None and (named := phrase("task named as").inside(what)):
            given, what = named["target"], what[: named.start()].strip()
        called = CALL.match(what) is not None
        order = self._called(what) if called else self._worded(what)
        if isinstance(order, str):
            return free(text, order)
        target = f"{given} = " if given is not None else ""
        said = f": {text.rstrip('.; ')}" if called else ""
        return waiting_call(f"{target}{order.text}{said}")

    def _called(self, what: str) -> _Order | str:
        """The order in `Researcher.Study($topic)`; why there is none."""
        called = phrases.whole_call(what)
        klass, _, name = (called or "").rpartition(".")
        playbook = self._reach.playbook(klass, name)
        if called is None or playbook is None:
            return "a call is inside the sentence"
        inside = inside_of(what, what.index("(")) or ""
        return self._order(klass, playbook, [one.strip() for one in split_at(inside, ",") if one.strip()])

    def _worded(self, what: str) -> _Order | str:
        """The order in "a Researcher's Study on $topic"; why there is none."""
        tokens = leading_tokens(what)
        pairs = pairwise(tokens)
        abouts = words_of("what a task is about")
        about = next((one for one, behind in pairs if one.text in abouts and behind.kind == "OPERAND"), None)
        who, said = (what, ()) if about is None else (what[: about.at], tokens[tokens.index(about) + 1 :])
        values = [one.text for one in said if one.kind == "OPERAND" and one.form != "call"]
        joined = {one.text for one in said if one.kind != "OPERAND"}
        if said and not (said[-1].kind == "OPERAND" and joined <= {",", "and"} and values):
            return "what the task is given is in words"
        doer = phrase("doer").without(who.strip())
        agent, own = self._reach.names.owner(doer)
        if not agent:
            klass, _, name = (self._reach.meant(doer) or "").rpartition(".")
            playbook = self._reach.playbook(klass, name)
            if playbook is not None:
                return self._order(klass, playbook, values)
            return "what the task is given is in words" if self._reach.agents_in(who) else "it names no playbook"
        can = [one for one in self._reach.public(agent) if not own or same_name(one.name, own)]
        if not can and own:
            return f"{agent} has no public playbook of this name"
        can = [one for one in can if _fits(one, len(values))]
        if len(can) != 1:
            several = ", ".join(one.name for one in can)
            return f"it does not say which of {several}" if can else f"{agent} has no public playbook that takes this"
        return self._order(agent, can[0], values)

    def _order(self, klass: str, playbook: ParsedPlaybook, values: Sequence[str]) -> _Order | str:
        if klass and playbook not in self._reach.public(klass):
            return f"{klass} has no public playbook of this name"
        if not _fits(playbook, len(values)):
            return f"the arguments of {playbook.name} are not given"
        arguments = _arguments([param.name for param in playbook.params], values)
        if arguments is None:
            return "which argument is which is unclear"
        return _Order(klass or self._reach.own_name, playbook.name, arguments)

    def waiting(self, text: str, bare: str) -> LoweredInstruction | None:
        """ "Wait for the research": the result of the one task that it can mean."""
        given, rest = phrases.given_to(bare)
        awaited = phrase("await a task").begins(rest) or phrase("get a result").begins(rest)
        if awaited is None:
            return None
        what = awaited["what"].strip().rstrip(".; ")
        if given is None and (kept := phrase("result kept as").inside(what)):
            given, what = kept["target"], what[: kept.start()].rstrip()
        if given is None and (heard := self._hearing(what)):
            return heard
        ended = phrase("task has ended").inside(what)
        what = phrase("result of").without(what[: ended.start()] if ended else what).strip()
        target = f"{given} = " if given is not None else ""
        if name := _numbered(what):
            return waiting_call(f"{target}Result({name})")
        meant = self._meant(what)
        if not meant:
            return None
        if len(meant) > 1 or meant[0].under != self._under[: len(meant[0].under)]:
            return free(text, "which task is meant is unclear")
        if meant[0].klass in self._partners and self._reach.agents_in(what):
            return free(text, f"it may mean the words of {meant[0].klass}, or the result of its task")
        task_of = f'"{meant[0].klass}.{meant[0].playbook}"' if meant[0].variable is None else f"${meant[0].variable}"
        return waiting_call(f"{target}Result({task_of}): {text.rstrip('.; ')}")

    def _hearing(self, what: str) -> LoweredInstruction | None:
        """ "Wait for the orderer", "Wait for a word from $task"."""
        word = phrase("word from").begins(what)
        whom = word["who"].strip() if word else what
        if self._reach.agents_in(whom):
            return None
        if phrase("orderer").is_all_of(whom):
            return LoweredInstruction(OpCode.YLD, "for orderer")
        named = self._named(whom) if word else None
        return None if named is None else LoweredInstruction(OpCode.YLD, f"for {named.strip(chr(34))}")

    def _named(self, whom: str) -> str | None:
        """The task that words surely mean, as a call names it; None for others."""
        if numbered := _numbered(whom):
            return numbered
        meant = self._meant(whom)
        if len(meant) != 1 or meant[0].under != self._under[: len(meant[0].under)]:
            return None
        return f"${meant[0].variable}" if meant[0].variable else f'"{meant[0].klass}.{meant[0].playbook}"'

    def telling(self, text: str, bare: str) -> LoweredInstruction | None:
        """ "Tell the task that the deadline moved": in the words of the sentence, where it is surely for a task."""
        others = phrase("other tasks").begins(bare)
        if others and not self._reach.agents_in(others.whole) and not phrase("to a person").begins(others.rest):
            return free(text, "which task is meant is unclear")
        also = phrase("to others and a task").begins(bare)
        if also and not self._reach.agents_in(also["whom"]):
            return free(text, "it is for a task and for others")
        spoken = phrase("speaks to a task").begins(bare)
        if spoken is None or self._reach.agents_in(spoken["whom"]):
            return None
        whom = spoken["whom"].strip()
        named = '"orderer"' if phrase("orderer").is_all_of(whom) else self._named(whom)
        if named is None:
            meant = self.started if whom.lower() == "it" else self._meant(whom)
            return free(text, "which task is meant is unclear") if meant or phrase("any task").begins(whom) else None
        told = phrase("told to a task").is_all_of(spoken["rest"])
        if told is None:
            return free(text, "what the task is told is left to a model")
        if told["words"]:
            return LoweredInstruction(OpCode.QUE, f"Tell({named}, {told['words']})")
        said = told["fact"] or f"Please {told['deed']}"
        if not _QUOTES.isdisjoint(said) or any(True for _ in joints(said)):
            return free(text, "what exactly the task is told is unclear")
        words = phrases.VARIABLE.sub(lambda one: f"{{${one[1]}}}", said.strip().rstrip(".")).strip()
        plain = phrase("any task").begins(whom) or named in (whom, '"orderer"') or phrase("one task").begins(whom)
        called = "" if plain else f": {text}"
        return LoweredInstruction(OpCode.QUE, f'Tell({named}, "{words[0].upper()}{words[1:]}."){called}')

    def _meant(self, what: str) -> list[_Started]:
        if what.startswith("$"):
            return [one for one in self.started if one.variable == what[1:]]
        if phrase("any task").begins(what):
            return self.started
        words = phrase("around a task").left_out_of(what)
        return [one for one in self.started if one.is_called(words)]


class _Order(Struct, frozen=True):
    klass: str
    playbook: str
    arguments: str

    @property
    def text(self) -> str:
        """The call that orders it."""
        more = f", {self.arguments}" if self.arguments else ""
        return f'Spawn("{self.klass}", "{self.playbook}"{more})'


def _numbered(what: str) -> str | None:
    """The task that "task 3" or "the task $order" is, as a call names it; None for other words."""
    name = found["task"] if (found := phrase("one task").begins(what)) else ""
    return f'"task {name}"' if name and not name.startswith("$") else name or None


def _fits(playbook: ParsedPlaybook, count: int) -> bool:
    """Whether a playbook that is no meeting takes so many arguments."""
    required = sum(param.default is None for param in playbook.params)
    return required <= count <= len(playbook.params) and playbook.metadata.get("meeting") is not True


def _arguments(names: Sequence[str], values: Sequence[str]) -> str | None:
    """Values by parameters: those of variables of these names, else in their order. None where it may be either."""
    given: dict[str, str] = {}
    for name, value in zip(names, values, strict=False):
        keyword = KEYWORD.match(value)
        given[keyword[1] if keyword else name] = value[keyword.end() :].strip() if keyword else value
    alike = [value[1:] for value in values if value[1:] in names and value.startswith("$")]
    if len(alike) == len(values) and len(set(alike)) == len(alike):
        given = {name: f"${name}" for name in names if name in alike}
    elif any(given.get(name) != f"${name}" for name in alike):
        return None
    if len(given) < len(values) or not given.keys() <= set(names):
        return None
    written = ", ".join(f'"{name}": {value}' for name, value in given.items())
    return f"{{{written}}}" if written else ""
