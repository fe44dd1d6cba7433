"""An exception on its way through the journal: recorded and raised again, it stays what it was."""

import builtins
import json

import pytest

from runtime.core import errors
from runtime.execution.frames.outcomes import RecordedError, described, rebuilt
from runtime.tape.state.frames import RaisedAt


class ShopClosed(Exception):
    """An author's own, with a constructor of its own."""

    def __init__(self, shop: str, until: int) -> None:
        super().__init__(shop, until)
        self.until = until

    def __str__(self) -> str:
        return f"the {self.args[0]} opens at {self.until}"


OF_PYTHON = sorted(
    {
        kind.__name__
        for kind in vars(builtins).values()
        if isinstance(kind, type) and issubclass(kind, Exception) and not issubclass(kind, ExceptionGroup)
    }
)
OURS = sorted(name for name, kind in vars(errors).items() if isinstance(kind, type))
NAMES = [*OF_PYTHON, *OURS, "ShopClosed", "NobodyKnows", "JSONDecodeError", "Odd Name"]
THERE = RaisedAt("Shop", "Ship", "Ship:02:EXE", ("shop.pb:31 in Ship",))
TEXTS = ("'city'", "[Errno 2] No such file or directory: 'it\\'s.txt'", "", "two\nlines", "KeyError: x")


@pytest.mark.parametrize("text", TEXTS)
def test_type_text_and_place_of_an_exception_are_the_same_after_any_number_of_calls(text: str) -> None:
    known = {"ShopClosed": ShopClosed, "JSONDecodeError": json.JSONDecodeError}
    for name in NAMES:
        error = (name, text)
        for _ in range(3):
            caught = rebuilt(error, known, THERE)
            assert isinstance(caught, RecordedError)
            assert (type(caught).__name__, str(caught), caught.raised_at) == (name, text, THERE)
            error = described(caught)
        assert error == (name, text)


def test_code_catches_an_exception_by_its_type() -> None:
    for name in OF_PYTHON:
        kind = getattr(builtins, name)
        expected = errors.PlaybookError if issubclass(kind, StopIteration | StopAsyncIteration) else kind
        assert isinstance(rebuilt((name, "no")), expected)


def test_code_catches_an_exception_of_its_own_type() -> None:
    assert isinstance(rebuilt(("ShopClosed", "no"), {"ShopClosed": ShopClosed}), ShopClosed)


def test_a_group_of_one_exception_is_that_exception() -> None:
    group = ExceptionGroup("unhandled errors in a TaskGroup", [ExceptionGroup("inner", [KeyError("city")])])
    assert described(group) == ("KeyError", "'city'")


def test_a_group_of_several_names_them_all() -> None:
    group = ExceptionGroup("2 failed", [KeyError("city"), ShopClosed("bakery", 7)])
    recorded = described(group)
    assert recorded == ("ExceptionGroup", "2 failed: KeyError: 'city'; ShopClosed: the bakery opens at 7")
    assert described(rebuilt(recorded)) == recorded
