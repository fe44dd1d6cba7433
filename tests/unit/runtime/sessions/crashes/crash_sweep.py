"""Runs the programs of the crash rig with faults at chosen points, and checks what people see in the end.

By hand, for as long as one likes: `python -m tests.unit.runtime.sessions.crashes.crash_sweep --seconds 600 --seed 7`.
A run that fails is printed as the line that repeats it.
"""

import argparse
import asyncio
import random
import re
import sys
import time
from collections import Counter
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import anyio

from runtime.core.clock import Clock
from runtime.execution.frames.loop import FrameLoop
from runtime.llm.client import CompletionRequest, ModelCompletion, Usage
from runtime.sandbox.monty import MontySandbox
from tests.fakes.crashes.rig import PLATFORMS, Fault, Rig, live
from tests.fakes.crashes.world import Scripted
from tests.fakes.people.player import Player
from tests.unit.runtime.sessions.crashes.crash_case import Case, calls_in
from tests.unit.runtime.sessions.crashes.crash_cases import CASES as ALL_CASES

LIMIT_S = 60.0
"""A run that takes longer hangs."""

CASES = {name: case for name, case in ALL_CASES.items() if not case.places}
"""What is run: the rig has no store of places."""

FAULTS: tuple[Fault, ...] = ("die", "die", "lose", "refuse")

_FROM_PROGRAM = "(From the program, not from a person.)"
"""How a prompt with questions begins."""

_NUMBERED = re.compile(r"^\[(\d+)\] ", re.MULTILINE)

_BEGUN = re.compile(r"<begun>(.*)</begun>", re.DOTALL)

_WAITED = re.compile(r"·\d+s$")

_TAKES = ("took", "start", "anew", "steer", "fetched", "answered")


class Company(Scripted):
    """The model of a case: answers for the playbooks that are called, too."""

    def __init__(self, case: Case, rng: random.Random, clock: Clock | None = None) -> None:
        super().__init__(case.replies, rng)
        self._clock = clock
        self._case = case
        self.gone_on = 0
        """How often it was asked for the rest of a message."""

    @asynccontextmanager
    async def stream(self, request: CompletionRequest, /) -> AsyncIterator[Any]:
        async with super().stream(request) as pieces:
            yield _Slowly(pieces, self._clock, self._case.piece_s) if self._clock is not None else pieces

    def _reply(self, request: CompletionRequest) -> str:
        asked = request.messages[-1].content
        if asked.startswith(_FROM_PROGRAM) and self._case.told:
            return self._told(request)
        if asked.startswith(_FROM_PROGRAM):
            heard = next((m.content for m in reversed(request.messages[1:-1]) if m.role == "user"), "")
            return self._answered(asked, heard)
        for name, lines in self._case.others.items():
            if f"You execute {name} " in asked:
                return Scripted([lines], self.rng)._reply(request)
        for name, reactions in self._case.reacts.items():
            if f"You execute {name} " in asked:
                heard = asked.partition("You execute")[0]
                return Scripted([next(lines for word, lines in reactions.items() if word in heard)], self.rng)._reply(
                    request
                )
        if self._case.mended and "   failed: " in asked:
            return self._mended(asked)
        if self._case.refused and "was refused" in asked:
            turns = [[line for line in turn if line != self._case.refused] for turn in self.turns]
            return Scripted(turns, self.rng)._reply(request)
        return super()._reply(request)

    def _answered(self, asked: str, heard: str) -> str:
        """Answers what a prompt asks and the case knows."""
        _, *numbered = _NUMBERED.split(asked)
        if not numbered:
            return self._answers(asked, heard)[0]
        answers = (
            (number, self._answers(text, heard)) for number, text in zip(numbered[::2], numbered[1::2], strict=True)
        )
        return "\n".join(f"[{number}] {answer}" for number, known in answers for answer in known[:1])

    def _answers(self, question: str, heard: str) -> list[str]:
        return [one.text for one in self._case.answers if one.to in question and one.heard in heard]

    def _told(self, request: CompletionRequest) -> str:
        """Answers to what is asked while a program is walked: to all of it, or only to the first question."""
        asked = request.messages[-1].content
        heard = [message.content for message in request.messages[1:-1] if message.role == "user"]
        tasks = re.findall(r"^\[\d+\] (.+(?:\n- .+)*)", asked, re.MULTILINE)
        if not tasks:
            return self._told_of(asked, heard)
        some = tasks[: 1 if self.rng.random() < 0.2 else None]
        return "\n".join(f"[{number}] {self._told_of(task, heard)}" for number, task in enumerate(some, 1))

    def _told_of(self, task: str, heard: Sequence[str]) -> str:
        last = heard[-1] if heard else ""
        fits = (answer for about, words, answer in self._case.told if re.search(about, task) and re.search(words, last))
        answer = next(fits, None)
        if answer is None:
            raise LookupError(f"{task!r}, where was heard: {last!r}")
        begun = _BEGUN.search(task)
        return answer if begun is None else self._rest(answer, begun[1])

    def _rest(self, answer: str, begun: str) -> str:
        """The rest of a message that broke off, as models give it: alone, behind some words once more, or all of it."""
        assert answer.startswith(begun), begun
        self.gone_on += 1
        last_words = len(begun.rstrip().rpartition(" ")[0]) + 1
        return answer[self.rng.choice([len(begun), len(begun.rstrip()), last_words, 0]) :]

    def _mended(self, asked: str) -> str:
        """Goes on behind the statement that failed."""
        done = [line for line in self._case.mended if f". {line}\n" in asked + "\n"]
        count = asked.partition("block is `# resume: ")[2].partition("`")[0]
        return "\n".join(["```python", f"# resume: {count}", *self._case.mended[len(done) :], "```"])


@dataclass(frozen=True)
class _Slowly:
    """A reply that takes its time."""

    pieces: ModelCompletion
    clock: Clock
    piece_s: float

    @property
    def usage(self) -> Usage:
        return self.pieces.usage

    async def __aiter__(self) -> AsyncIterator[str]:
        async for piece in self.pieces:
            if self.piece_s:
                await self.clock.sleep_until(self.clock.monotonic() + self.piece_s)
            yield piece


@dataclass(frozen=True)
class Run:
    """One life of a conversation. `plan` says at which points what goes wrong."""

    case: str
    platform: str
    plan: Mapping[int, Fault] = field(default_factory=dict)
    seed: int = 0
    idle_s: float = 900.0

    def __str__(self) -> str:
        plan = ",".join(f"{point}={fault}" for point, fault in sorted(self.plan.items()))
        return f"--case {self.case} --platform '{self.platform}' --run {self.seed} --idle {self.idle_s} --plan '{plan}'"

    async def live(self, sandbox: MontySandbox) -> Rig:
        """The world at its end. Raises what no session may raise, and TimeoutError."""
        case = CASES[self.case]
        rig = Rig(list(case.people), PLATFORMS[self.platform], self.plan, self.idle_s)
        rig.player = Player(rig.mailboxes, case.plays, rig.inbox, rig.clock)
        model = Company(case, random.Random(self.seed), rig.clock)
        with anyio.fail_after(LIMIT_S):
            await live(rig, case.program, model, sandbox, busy=case.busy, questions_alone=case.alone)
        return rig

    async def checked(self, sandbox: MontySandbox) -> Rig:
        """The world at its end, in which nothing is lost and nothing was said twice. Raises AssertionError."""
        rig = await self.live(sandbox)
        await check(rig, CASES[self.case])
        return rig


_CHOSEN = re.compile(r"(?: ✓ [^✓]+)+\Z")
"""What was chosen, in the place of a question's choices."""


async def check(rig: Rig, case: Case) -> None:
    """Every message taken once, every sentence seen once, whole and in order, and nothing else."""
    taken = [(fact.tape, mid) for fact in rig.facts if fact.kind in _TAKES for mid in fact.data.get("mids") or ()]
    assert len(taken) == len(set(taken)), f"taken twice: {Counter(taken)}"
    assert not await rig.waiting(), "something was not taken"
    assert not rig.inbox.dead, f"dead letters: {rig.inbox.dead}"
    seen = [_bare(_CHOSEN.sub("", text)) for text in rig.platform.pages]  # like the buttons: a fault may lose it
    wanted = [_bare(text) for text in case.seen]
    if case.loose:
        assert [seen.count(text) for text in wanted] == [1] * len(wanted), seen
        assert f"in.{len(case.people)}" in {message for _, message in taken}, "the last message was not taken"
    elif case.in_order:
        assert seen == wanted, f"seen {rig.platform.pages}"
    else:
        assert sorted(seen) == sorted(wanted), f"seen {rig.platform.pages}"
    assert not case.calls or calls_in(rig.facts) == case.calls, calls_in(rig.facts)
    most = 0 if rig.capabilities.idempotent_send else sum(rig.met.values())
    assert len(rig.platform.orphans) <= most, rig.platform.orphans


def _bare(text: str) -> str:
    """The words alone: a part of a page closes marks that its text leaves open, and faults take their time."""
    return _WAITED.sub("", "".join(text.replace("`", "").split()))


def random_runs(seed: int, platforms: Sequence[str] = tuple(PLATFORMS)) -> Iterator[Run]:
    """Runs without end, each with one to four faults, the same ones for the same seed."""
    draw = random.Random(seed)
    while True:
        case, platform = draw.choice(list(CASES)), draw.choice(platforms)
        points = draw.sample(range(1, 90), draw.randint(1, 4))
        plan = {point: draw.choice(FAULTS) for point in points}
        idle_s = draw.choice([900.0, 900.0, 0.001])
        yield Run(case, platform, plan, draw.randrange(1_000_000), idle_s)


async def sweep(seed: int, seconds: float) -> Counter[str]:
    """Random runs for a time; counts of what was met. Prints each failed run as it happens."""
    met: Counter[str] = Counter()
    ends_at = time.monotonic() + seconds
    async with MontySandbox(max_workers=2) as sandbox:
        for run in random_runs(seed):
            if time.monotonic() > ends_at:
                break
            met["runs"] += 1
            try:
                rig = await run.checked(sandbox)
            except (Exception, BaseExceptionGroup) as error:  # noqa: BLE001 - each failure is counted, and said
                met["failed"] += 1
                _say(f"FAILED {run}\n  {type(error).__name__}: {str(error)[:600]}")
                continue
            met.update({f"fault {fault}": count for fault, count in rig.met.items()})
            met["crashes survived"] += rig.deaths
            met["orphans"] += len(rig.platform.orphans)
    return met


async def _repeat(run: Run) -> Counter[str]:
    async with MontySandbox(max_workers=2) as sandbox:
        rig = await run.checked(sandbox)
    return Counter({"runs": 1, "crashes survived": rig.deaths})


def _say(text: str) -> None:
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


def main() -> int:
    """Sweep, or repeat one run; exit code 1 when something failed."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--case", choices=CASES)
    parser.add_argument("--platform", choices=PLATFORMS)
    parser.add_argument("--run", type=int, default=0)
    parser.add_argument("--idle", type=float, default=900.0)
    parser.add_argument("--plan", default="")
    asked = parser.parse_args()
    pairs = (pair.split("=") for pair in asked.plan.split(",") if pair)
    plan: dict[int, Fault] = {int(point): fault for point, fault in pairs}
    with asyncio.Runner(loop_factory=FrameLoop) as runner:
        if asked.case is not None:
            met = runner.run(_repeat(Run(asked.case, asked.platform or "edits", plan, asked.run, asked.idle)))
        else:
            met = runner.run(sweep(asked.seed, asked.seconds))
    _say(f"seed {asked.seed}: " + ", ".join(f"{count} {what}" for what, count in sorted(met.items())))
    return 1 if met["failed"] else 0


if __name__ == "__main__":
    sys.exit(main())
