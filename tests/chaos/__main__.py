"""`make chaos`: runs of one seed after the other, for minutes, and the table of what was survived."""

import argparse
import sys
import tempfile
from functools import partial
from pathlib import Path
from time import monotonic

import anyio

from tests.chaos.plan import KILLS, KINDS, SHAPES, make_plan
from tests.chaos.report import table
from tests.chaos.run import Outcome, run


def main() -> None:
    """Play until the minutes are over; the exit code says whether all went well."""
    arguments = _arguments()
    outcomes: list[Outcome] = []
    began = monotonic()
    seed = arguments.seed
    while True:
        plan = make_plan(
            seed,
            rounds=arguments.rounds,
            shape=arguments.shape,
            without=KINDS if arguments.calm else arguments.without,
            only=KILLS if arguments.kills else (),
            in_haste=arguments.kills,
            tasks=arguments.tasks,
        )
        if arguments.plan:
            _say("\n".join(plan.lines()))
            return
        with tempfile.TemporaryDirectory(prefix="chaos-", ignore_cleanup_errors=True) as directory:
            tell = _say if arguments.verbose else _silent
            outcome = anyio.run(partial(run, plan, Path(directory), tell=tell))
        outcomes.append(outcome)
        _say(
            f"seed {seed} ({plan.shape}): {outcome.rounds} rounds, {sum(outcome.strikes.values())} faults, "
            f"{outcome.counts['messages']} messages, {len(outcome.problems)} problems, {monotonic() - began:.0f} s"
        )
        if arguments.logs:
            arguments.logs.write_text("\n".join(outcome.logs))
        if outcome.problems:
            _say("\n".join(outcome.lines()))
            _say(f"Again: {_command(arguments, seed)}")
        if monotonic() - began >= 60 * arguments.minutes:
            break
        seed += 1
    _say(table(outcomes, monotonic() - began))
    sys.exit(1 if any(outcome.problems for outcome in outcomes) else 0)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.chaos", description="Break things and see what people see.")
    parser.add_argument("--seed", type=int, default=1, help="the first seed; the next run has the next one")
    parser.add_argument("--minutes", type=float, default=10, help="no run begins after so long")
    parser.add_argument("--rounds", type=int, default=12, help="rounds a run")
    parser.add_argument("--shape", choices=SHAPES, default=None, help="the machines, in place of what the seed says")
    parser.add_argument(
        "--without", action="append", default=[], choices=KINDS, help="leave out a kind of fault; the rest stays"
    )
    parser.add_argument("--kills", action="store_true", help="nothing but kill -9, twice a round")
    parser.add_argument("--tasks", action="store_true", help="order tasks in every conversation")
    parser.add_argument("--calm", action="store_true", help="no faults at all")
    parser.add_argument("--logs", type=Path, default=None, help="a file for what the gateways of the last run logged")
    parser.add_argument("--verbose", action="store_true", help="tell every round")
    parser.add_argument("--plan", action="store_true", help="say what would happen, and do nothing")
    return parser.parse_args()


def _command(arguments: argparse.Namespace, seed: int) -> str:
    options = [f"--shape {arguments.shape}"] if arguments.shape else []
    options += ["--calm"] if arguments.calm else [f"--without '{kind}'" for kind in arguments.without]
    options += ["--kills"] if arguments.kills else []
    options += ["--tasks"] if arguments.tasks else []
    more = f' CHAOS="{" ".join(options)}"' if options else ""
    return f"make chaos SEED={seed} ROUNDS={arguments.rounds} MINUTES=0{more}"


def _silent(_text: str) -> None:
    """Nobody wants to know."""


def _say(text: str) -> None:
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main()
