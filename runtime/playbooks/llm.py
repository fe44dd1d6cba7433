"""Playbooks in natural language: executed by the interpreter on a language model."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from runtime.execution.frame import Frame
from runtime.execution.interpreter import Interpreter, check_version
from runtime.language.program import PlaybookSpec
from runtime.playbooks.playbook import bound, state_values
from runtime.tape.journal import digest_of


class LLMPlaybook:
    """A playbook with steps in English; `interpret` makes the interpreter of one of its frames."""

    def __init__(self, spec: PlaybookSpec, interpret: Callable[[Frame, PlaybookSpec], Interpreter]) -> None:
        self.spec = spec
        self.name = spec.name
        steps = [(step.line, step.op, step.text) for step in spec.walk_steps()]
        self.version = digest_of(spec.name, [steps, list(spec.notes), spec.description], {})
        self._interpret = interpret

    def bind(
        self, args: tuple[Any, ...], kwargs: Mapping[str, Any]
    ) -> tuple[list[Any], dict[str, Any], dict[str, Any]]:
        """See `Executable.bind`."""
        values = bound(self.name, self.spec.params, args, kwargs)
        return [], values, state_values(self.spec.params, values)

    async def run(self, frame: Frame, /) -> Any:
        """See `Executable.run`."""
        check_version(frame, self.version)
        return await self._interpret(frame, self.spec).run()
