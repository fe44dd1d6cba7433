"""One run of a plan: people act, faults strike, and after each round everything must have been said, once."""

import json
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from time import monotonic

import anyio

from tests.chaos.faults import strike
from tests.chaos.model import WAYS
from tests.chaos.oracle import Verdict, judge, taken_back
from tests.chaos.places import Place, Shown
from tests.chaos.plan import Deed, Plan, Round, Strike
from tests.chaos.stage import Node, Stage, staged
from tests.chaos.stories import BROKEN, STORIES, Said, Story
from tests.e2e.gateway_process import parley

SETTLE_LIMIT_S = 180.0
_STRIKE_LIMIT_S = 120.0
_REST_S = 1.0
_NEVER_LOGGED = frozenset({"session.failed", "playbook.failed", "page.failed", "llm.failed", "page.refused"})
_COUNTED_LOGS = ("page.orphaned", "page.diverged", "storage.lost", "session.restored", "step.rejected")


@dataclass
class Outcome:
    """What came of a run. `problems` are what must never be; `orphans` copies that the docs allow."""

    plan: Plan
    counts: Counter[str] = field(default_factory=Counter)
    strikes: Counter[str] = field(default_factory=Counter)
    problems: list[str] = field(default_factory=list)
    rounds: int = 0
    orphans: int = 0
    logs: list[str] = field(default_factory=list)

    def lines(self) -> Iterator[str]:
        """For people: what is wrong, and how it is tried again."""
        yield from self.problems
        yield from self.plan.lines()


@dataclass
class Talk:
    """A conversation in progress."""

    number: int
    place: Place
    story: Story
    said: list[Said] = field(default_factory=list)
    orphans: int = 0
    seen: Sequence[Shown] = ()
    taken_back: list[str] = field(default_factory=list)

    def look(self) -> Verdict:
        """Look at what people see, after each change: nothing that they have read is taken away and shown again."""
        seen = self.place.shown()
        self.taken_back += taken_back(self.seen, seen)
        self.seen = seen
        return self.verdict()

    async def watch(self) -> None:
        """Look at every change, until cancelled."""
        await self.place.until(lambda: self.look() is None)

    def verdict(self) -> Verdict:
        """How what people see compares with what was to be said."""
        story = self.story
        return judge(self.place.shown(), story.expected(self.said), story.speakers, asks_on=story.asks_on)

    def describe(self) -> str:
        """For people."""
        verdict = self.verdict()
        shown = [one.text for one in self.place.shown()]
        return (
            f"#{self.number} {self.story.name} on {type(self.place).__name__}: "
            f"said {[one.text for one in self.said][-4:]}, shown {shown[-6:]}, missing {list(verdict.missing)[:4]}, "
            f"strange {list(verdict.strange)[:4]}, growing {list(verdict.growing)}, choices {list(verdict.choices)} "
            f"{self.place.trouble}"
        )


async def run(plan: Plan, directory: Path, *, tell: Callable[[str], None] = lambda _: None) -> Outcome:
    """Play it to its end, or to the first round after which something is wrong. `tell` hears of every round."""
    outcome = Outcome(plan)
    async with staged(plan, directory, outcome.counts) as stage:
        drama = _Drama(stage, outcome)
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(drama.keep_up)
            for number, one in enumerate(plan.rounds):
                began = monotonic()
                await drama.play(number, one)
                kinds = ", ".join(strike.kind for strike in one.strikes)
                tell(f"round {number}: {kinds}: {monotonic() - began:.1f} s, the last one {drama.last}")
                if outcome.problems:
                    break
                outcome.rounds += 1
            await drama.close()
            tasks.cancel_scope.cancel()
    return outcome


class _Drama:
    def __init__(self, stage: Stage, outcome: Outcome) -> None:
        self._stage = stage
        self._outcome = outcome
        self.last = ""
        self._talks = [
            Talk(number, place, STORIES[cast.story])
            for number, (place, cast) in enumerate(zip(stage.places, stage.plan.casts, strict=True))
        ]

    async def keep_up(self) -> None:
        """Start gateways again that ended by themselves, as a service manager would, and say so."""
        async with anyio.create_task_group() as tasks:
            for node in self._stage.nodes:
                tasks.start_soon(self._keep_up, node)

    async def _keep_up(self, node: Node) -> None:
        while True:
            await node.gateway.gone()
            if node.ending:
                await node.back.wait()
                continue
            node.deaths.append("\n".join(node.gateway.output.splitlines()[-12:]))
            await node.up()

    async def play(self, number: int, one: Round) -> None:
        """A round: everything at its time, then the verdict."""
        async with anyio.create_task_group() as watchers:
            for talk in self._talks:
                watchers.start_soon(talk.watch)
            await self._play(one)
            watchers.cancel_scope.cancel()
        await self._settle(f"round {number}")

    async def _play(self, one: Round) -> None:
        async with anyio.create_task_group() as tasks:
            for talk in self._talks:
                deeds = [deed for deed in one.deeds if deed.cast == talk.number]
                if deeds:
                    tasks.start_soon(self._act, talk, deeds)
            for fault in one.strikes:
                tasks.start_soon(self._strike, fault)

    async def _strike(self, fault: Strike) -> None:
        await anyio.sleep(fault.at_s)
        hit = 0
        with anyio.move_on_after(_STRIKE_LIMIT_S) as limit:
            hit = await strike(self._stage, fault)
        if limit.cancelled_caught:
            self._outcome.problems.append(f"it did not come back from {fault}")
        self._outcome.strikes[fault.kind] += bool(hit)
        self._outcome.counts[f"hit: {fault.kind}"] += hit

    async def _act(self, talk: Talk, deeds: Sequence[Deed]) -> None:
        now = 0.0
        for deed in deeds:
            await anyio.sleep(max(0.0, deed.at_s - now))
            now = deed.at_s
            talk.said.append(deed.said)
            self._outcome.counts["messages"] += 1
            with anyio.move_on_after(SETTLE_LIMIT_S) as limit:
                await talk.place.say(deed.said.text)
                if deed.said.then:
                    await self._reply(talk, deed.said)
            if limit.cancelled_caught:
                self._outcome.problems.append(f"not taken: {deed.said} in {talk.describe()}")

    async def _reply(self, talk: Talk, said: Said) -> None:
        """Answer the question that the last message leads to, once it is asked."""
        question = talk.story.expected(talk.said)[-2]
        await talk.place.until(lambda: self._is_asked(talk, question))
        await talk.place.answer(said)
        self._outcome.counts["messages"] += 1

    def _is_asked(self, talk: Talk, question: str) -> bool:
        shown = [one for one in talk.place.shown() if question in one.text]
        return bool(shown) and ("Yes" in shown[-1].choices or not talk.place.has_choices)

    async def _settle(self, when: str) -> None:
        """Wait until all is answered everywhere, then look for what should not be there."""
        async with anyio.create_task_group() as tasks:
            for talk in self._talks:
                tasks.start_soon(self._settled, talk, when)
        for node in self._stage.nodes:
            node.keep_logs()
            for event in node.logs:
                name = str(event.get("event"))
                if name in _NEVER_LOGGED and not str(event.get("error")).endswith(BROKEN):
                    self._outcome.problems.append(f"{when}: logged {json.dumps(event)}")
                if name in _COUNTED_LOGS:
                    self._outcome.counts[name] += 1
                self._outcome.logs.append(f"{node.data_dir.name} {when} {json.dumps(event)}")
            self._outcome.logs += [f"{node.data_dir.name} {when} {line}" for line in node.others]
            node.logs.clear()
            node.others.clear()
            for death in node.deaths:
                self._outcome.problems.append(f"{when}: a gateway ended by itself: {death}")
                self._outcome.counts["gateways that ended by themselves"] += 1
            node.deaths.clear()
        self._outcome.problems += [f"{when}: {failure}" for failure in self._stage.model.failures]

    async def _settled(self, talk: Talk, when: str) -> None:
        with anyio.move_on_after(SETTLE_LIMIT_S) as limit:
            await talk.place.until(lambda: talk.look().settled)
        verdict = talk.look()
        self.last = f"{talk.story.name} on {type(talk.place).__name__}"
        if limit.cancelled_caught:
            self._outcome.problems.append(f"{when}: not settled: {talk.describe()}")
        elif verdict.strange:
            self._outcome.problems.append(f"{when}: strange: {talk.describe()}")
        elif verdict.orphans > talk.orphans and not talk.place.repeats_orphans:
            self._outcome.problems.append(f"{when}: seen twice: {talk.describe()}")
        elif talk.taken_back:
            self._outcome.problems.append(f"{when}: read and taken away: {talk.taken_back}: {talk.describe()}")
        self._outcome.orphans += max(0, verdict.orphans - talk.orphans)
        talk.orphans = verdict.orphans

    async def close(self) -> None:
        """The last look, when nothing strikes any more: nothing came late, nothing waits, nothing died."""
        await anyio.sleep(_REST_S)
        if not self._outcome.problems:
            await self._settle("in the end")
        self._outcome.counts["sentences"] += sum(len(talk.story.expected(talk.said)) for talk in self._talks)
        self._outcome.counts["conversations"] += len(self._talks)
        self._outcome.counts["model replies"] += self._stage.model.counts["replies"]
        for kind in WAYS:
            self._outcome.counts[f"model {kind}"] += self._stage.model.counts[kind]
        await self._look_into_the_store()

    async def _look_into_the_store(self) -> None:
        node = self._stage.nodes[0]
        more = {} if self._stage.server is None else {"PARLEY_REDIS_URL": f"unix://{self._stage.server.socket}"}
        status, letters, error = await parley(node.data_dir, "debug", "letters", "list", "--json", **more)
        if status != 0 or letters.strip():
            self._outcome.problems.append(f"dead letters ({status}): {letters}{error}")
        sessions: list[str] = []
        with anyio.move_on_after(SETTLE_LIMIT_S):
            while not sessions or _working(sessions):
                status, listed, error = await parley(
                    node.data_dir, "sessions", "list", "--json", "--limit", "1000", **more
                )
                sessions = listed.splitlines()
                if status != 0 or not sessions:
                    self._outcome.problems.append(f"sessions cannot be listed ({status}): {error}")
                    break
        self._outcome.counts["sessions"] += len(sessions)
        status, listed, error = await parley(node.data_dir, "tasks", "list", "--json", "--limit", "0", **more)
        tasks = [json.loads(line) for line in listed.splitlines()]
        self._outcome.counts["tasks"] += len(tasks)
        left = [task for task in tasks if task["status"] not in ("completed", "failed", "canceled")]
        self._outcome.problems += [f"a task has not ended ({status}): {task}{error}" for task in left]
        self._outcome.problems += [f"a session still works: {line}" for line in _working(sessions)]


def _working(sessions: Sequence[str]) -> list[str]:
    """Those listed, each as its JSON, that have something to do. What is seen last is committed a moment later."""
    return [line for line in sessions if json.loads(line)["state"] == "working"]
