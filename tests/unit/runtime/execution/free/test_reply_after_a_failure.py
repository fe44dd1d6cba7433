"""A reply that follows a statement which failed: it may put another in its place, and not the same one."""

from collections.abc import Sequence
from typing import Any, cast

from runtime.execution.free.reply_run import ReplyRun
from runtime.execution.free.scope import Position
from runtime.execution.speech.live_stream import LiveStream

DONE = "first = 1"
FAILED = "second = first / 0"


class Ran:
    """Runs nothing, and remembers what it should have run."""

    halted = False

    def __init__(self) -> None:
        self.sources: list[str] = []

    async def accept(self, source: str, _remarks: Sequence[str] = (), /) -> None:
        self.sources.append(source)

    async def open_stream(self, target: str, /) -> LiveStream | None:
        raise AssertionError(f"nobody speaks to {target}")

    async def say_plainly(self, text: str, /) -> None:
        raise AssertionError(f"nobody says {text}")

    def value_of(self, name: str, /) -> object:
        raise KeyError(name)

    def position(self) -> Position:
        return Position(
            playbook="Main",
            steps={},
            functions={},
            names={"first", "second"},
            check_target=lambda _: None,
            check_source=lambda _: None,
            types={},
            triggers={},
        )


async def answered(*statements: str) -> tuple[ReplyRun, list[str]]:
    ran = Ran()
    run = ReplyRun(cast("Any", ran), [DONE, FAILED], "ZeroDivisionError: division by zero")
    await run.feed("```python\n" + "\n".join(statements) + "\n```")
    await run.close()
    return run, ran.sources


async def test_another_statement_may_stand_where_one_failed() -> None:
    _, ran = await answered(DONE, "second = first / 2", "third = 3")
    assert ran == ["second = first / 2", "third = 3"]


async def test_the_statement_that_failed_is_refused_with_its_failure() -> None:
    run, ran = await answered(DONE, FAILED, "third = 3")
    assert run.rejected is not None
    assert run.rejected.rule == "failed"
    assert "ZeroDivisionError: division by zero" in run.rejected.message
    assert ran == []


async def test_a_reply_may_go_on_after_what_failed() -> None:
    _, ran = await answered("# resume: 2", "third = 3")
    assert ran == ["third = 3"]


async def test_what_did_not_fail_is_still_repeated_exactly() -> None:
    run, ran = await answered("first = 2", "second = first / 2")
    assert run.rejected is not None
    assert run.rejected.rule == "resume"
    assert ran == []
