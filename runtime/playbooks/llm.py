"""Playbooks in natural language: executed by the interpreter on a language model."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from runtime.core.errors import ProgramChanged
from runtime.execution.frames.frame import Frame
from runtime.execution.free.interpreter import Interpreter
from runtime.language.program import PlaybookSpec
from runtime.language.versions import Version, stands_on
from runtime.playbooks.playbook import bound, check_signature, state_values, typed


class LLMPlaybook:
    """A playbook with steps in English; `interpret` makes the interpreter of one of its frames."""

    kind = "llm"

    def __init__(
        self, spec: PlaybookSpec, version: str, interpret: Callable[[Frame, PlaybookSpec], Interpreter]
    ) -> None:
        self.spec = spec
        self.name = spec.name
        self.version = version
        self._interpret = interpret

    def bind(
        self, args: tuple[Any, ...], kwargs: Mapping[str, Any]
    ) -> tuple[list[Any], dict[str, Any], dict[str, Any]]:
        """See `Executable.bind`."""
        values = typed(self.name, self.spec.params, bound(self.name, self.spec.params, args, kwargs))
        return [], values, state_values(self.spec.params, values)

    async def adopt(self, frame: Frame, /) -> None:
        """The step at which the frame stands, and those that it is part of, must be as they were."""
        now = Version.read(self.version)
        begun = check_signature(frame, now)
        for line in stands_on(frame.state.step) if frame.state.step else ():
            if begun.steps.get(line) != now.steps.get(line):
                how = "reads differently now" if line in now.steps else "is gone"
                raise ProgramChanged(f"step {line} of {self.name}, at which it stands here, {how}")

    async def run(self, frame: Frame, /) -> Any:
        """See `Executable.run`."""
        return await self._interpret(frame, self.spec).run()
