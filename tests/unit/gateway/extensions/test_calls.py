"""Calls of extensions: what is read of a function, and what bounds it."""

import threading

import anyio
import pytest

from gateway.extensions.extension import API_VERSION, Extension
from runtime.core.errors import ConfigError, PlaybookError
from runtime.execution.calls.remote import call_of, with_calls
from tests.unit.runtime.sessions.programs import agent, llm, program


def test_a_function_is_read_as_a_playbook_with_types_defaults_and_a_description() -> None:
    def rate(currency: str, days: int = 3, *, exact: bool = False) -> list[float]:
        """Gives the rates."""
        return [float(days)] if exact or currency else []

    spec = call_of("Rate", rate).spec
    assert [(p.name, p.type, p.default) for p in spec.params] == [
        ("currency", "str", None),
        ("days", "int", "3"),
        ("exact", "bool", "False"),
    ]
    assert (spec.returns, spec.description, spec.public) == ("list[float]", "Gives the rates.", False)


def test_a_parameter_without_a_name_is_refused() -> None:
    extension = Extension("many", api=API_VERSION)

    def many(*names: str) -> int:
        return len(names)

    with pytest.raises(ConfigError, match=r"extension many: Many has the parameter \*names"):
        extension.call("Many")(many)


async def test_a_plain_function_runs_beside_the_event_loop() -> None:
    def where() -> int:
        return threading.get_ident()

    assert await call_of("Where", where).happen({}) != where()


async def test_a_call_that_takes_too_long_is_given_up() -> None:
    with pytest.raises(PlaybookError, match=r"Slow took longer than 0\.01 s"):
        await call_of("Slow", anyio.sleep_forever, timeout_s=0.01).happen({})


def test_an_agents_own_playbook_hides_a_call_of_its_name() -> None:
    made = program(agent("Main", llm("Main", "01:YLD for user"), llm("Rate", "01:YLD for user")))

    def rate() -> int:
        return 1

    found = with_calls(made, {name: call_of(name, rate) for name in ("Rate", "Other")}).agents[0]
    assert [(one.name, one.kind) for one in found.playbooks] == [
        ("Main", "llm"),
        ("Rate", "llm"),
        ("Other", "extension"),
    ]
