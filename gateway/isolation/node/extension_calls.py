"""Answers to the calls by which the process of a task has calls of extensions made, which are not in it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from gateway.isolation.peer import Handler
from runtime.core.errors import ParleyError, TaskRefused
from runtime.execution.calls.extensions import ExtensionCall
from runtime.execution.frames.outcomes import described
from runtime.playbooks.playbook import bound, typed
from runtime.tape.journal import as_data


class ExtensionCalls:
    """Those that the programs of a node may make."""

    def __init__(self, calls: Mapping[str, ExtensionCall]) -> None:
        self._calls = calls

    def table(self) -> Mapping[str, Handler]:
        """The calls by name."""
        return {"call_extension": self.call_extension}

    async def call_extension(self, data: Any) -> Any:
        """Make one, whose arguments are what it takes: its value, or the error that it has raised, as data."""
        name, given = data
        call = self._calls.get(str(name))
        if call is None:
            raise TaskRefused(f"No extension has the call {str(name)[:200]!r}.")
        try:
            arguments = typed(call.spec.name, call.spec.params, bound(call.spec.name, call.spec.params, (), given))
            return {"value": as_data(await call.happen(arguments))}
        except ParleyError:
            raise
        except Exception as error:  # noqa: BLE001 - whatever it raises is its result, as it is inline
            return {"error": list(described(error))}
