"""The table of a chaos run, as docs/running/recovery.md shows it."""

from collections import Counter
from collections.abc import Sequence

from tests.chaos.disk import LEFT_OUT
from tests.chaos.plan import KINDS
from tests.chaos.run import Outcome

_TOTALS = ("messages", "sentences", "conversations", "sessions", "tasks", "model replies")


def table(outcomes: Sequence[Outcome], seconds: float) -> str:
    """Faults by kind beside how often each has struck, then what people did and saw."""
    counts: Counter[str] = sum((outcome.counts for outcome in outcomes), Counter())
    strikes: Counter[str] = sum((outcome.strikes for outcome in outcomes), Counter())
    seeds = [outcome.plan.seed for outcome in outcomes]
    lines = [
        f"Seeds {seeds[0]} to {seeds[-1]}, {sum(outcome.rounds for outcome in outcomes)} rounds in {seconds / 60:.0f} "
        "minutes; after each round every conversation was compared with what its program must have said.",
        "",
        "| fault | struck |",
        "| --- | --- |",
        *(f"| {kind} | {_struck(kind, strikes, counts)} |" for kind in KINDS if strikes[kind]),
        f"| **all** | **{sum(strikes.values())}**, {_killed(counts)} processes by `kill -9` |",
        "",
        "| | |",
        "| --- | --- |",
        *(f"| {what} | {counts[what]:,} |" for what in _TOTALS),
        f"| unanswered, doubled, half or in the wrong order | {sum(len(one.problems) for one in outcomes)} |",
        f"| second copies on a platform without nonces | {sum(one.orphans for one in outcomes)} |",
        f"| gateways that ended by themselves | {counts['gateways that ended by themselves']} |",
    ]
    lines += [f"| {LEFT_OUT} | {counts[LEFT_OUT]} |"] if counts[LEFT_OUT] else []
    return "\n".join(lines)


def _killed(counts: Counter[str]) -> int:
    return sum(number for name, number in counts.items() if name.startswith("hit: kill"))


def _struck(kind: str, strikes: Counter[str], counts: Counter[str]) -> str:
    hit = counts[f"hit: {kind}"]
    return f"{strikes[kind]}" if hit == strikes[kind] else f"{strikes[kind]} ({hit} processes or connections)"
