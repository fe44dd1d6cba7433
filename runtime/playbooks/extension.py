"""Playbooks that are calls of an extension: an outside effect each, on the stack of whoever calls them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from runtime.core.errors import NotAllowed, PlaybookError
from runtime.execution.calls.extensions import ExtensionCall
from runtime.execution.frames.frame import Frame, FrameCall
from runtime.execution.frames.outside import Effect, Outside
from runtime.language.program import PlaybookSpec
from runtime.playbooks.playbook import bound, typed, typed_result


class ExtensionPlaybook:
    """One call. One that a restart interrupted is made again if it is repeatable, else its outcome is unknown.

    Where people try things (`trial`), only those are made that change nothing outside.
    """

    version = "extension - -"
    """The same for all: what an extension does is not the program's."""
    kind = "extension"

    def __init__(
        self, spec: PlaybookSpec, calls: Mapping[str, ExtensionCall], outside: Outside, *, trial: bool
    ) -> None:
        self.name = spec.name
        self._spec = spec
        self._calls = calls
        self._outside = outside
        self._trial = trial

    def bind(
        self, args: tuple[Any, ...], kwargs: Mapping[str, Any]
    ) -> tuple[list[Any], dict[str, Any], dict[str, Any]]:
        params = self._spec.params
        return [], typed(self.name, params, bound(self.name, params, args, kwargs)), {}

    async def adopt(self, frame: Frame, /) -> None:
        """Nothing of it is written in the program."""

    async def run(self, frame: Frame, /) -> Any:
        arguments = dict(frame.state.kwargs)
        call = self._calls.get(self.name)
        if call is None:
            raise PlaybookError(f"{self.name} is a call of an extension that is not loaded here")
        if self._trial and not call.only_reads:
            raise NotAllowed(
                f"{self.name} is not called in a scratch room, because it may change something outside. "
                "Its extension can say only_reads=True where it changes nothing."
            )
        effect = Effect(self.name, lambda _key: call.happen(arguments), repeatable=call.repeatable)
        value = await self._outside.value(frame, FrameCall("0", self.name, (), arguments), effect)
        return typed_result(self.name, self._spec.returns, value)
