"""Playbooks in natural language: the processor walks their steps; a model executes those without steps."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Protocol

from runtime.core.errors import ProgramChanged
from runtime.execution.frames.frame import Frame
from runtime.language.pbasm.versions import Version, stands_on
from runtime.language.program import PlaybookSpec
from runtime.playbooks.playbook import bound, check_signature, state_values, typed


class Execution(Protocol):
    """The execution of one frame."""

    async def run(self) -> Any:
        """Execute the frame and return its value. Raises PlaybookError when it fails."""
        ...


class LLMPlaybook:
    """A playbook in English; `execution` makes what executes one of its frames."""

    kind = "llm"

    def __init__(self, spec: PlaybookSpec, version: str, execution: Callable[[Frame, PlaybookSpec], Execution]) -> None:
        self.spec = spec
        self.name = spec.name
        self.version = version
        self._execution = execution

    def bind(
        self, args: tuple[Any, ...], kwargs: Mapping[str, Any]
    ) -> tuple[list[Any], dict[str, Any], dict[str, Any]]:
        values = typed(self.name, self.spec.params, bound(self.name, self.spec.params, args, kwargs))
        return [], values, state_values(self.spec.params, values)

    async def adopt(self, frame: Frame, /) -> None:
        """The frame's current step, and those that contain it, must be unchanged."""
        now = Version.read(self.version)
        begun = check_signature(frame, now)
        for line in stands_on(frame.state.step) if frame.state.step else ():
            if begun.steps.get(line) != now.steps.get(line):
                how = "reads differently now" if line in now.steps else "is gone"
                raise ProgramChanged(f"step {line} of {self.name}, at which it is now, {how}")

    async def run(self, frame: Frame, /) -> Any:
        return await self._execution(frame, self.spec).run()
