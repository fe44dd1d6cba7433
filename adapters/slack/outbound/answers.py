"""What is said, in blocks that not every workspace takes: a table, and the thumbs below what an agent has said."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable
from typing import Any, TypeAlias, TypeVar

from adapters.slack.api.workspaces import Workspace
from adapters.slack.codec.feedback import feedback_block
from runtime.core.address import Speaker
from runtime.core.errors import BadMarkup
from runtime.core.texts import Texts

_log = logging.getLogger(__name__)
_Answer = TypeVar("_Answer")
Blocks: TypeAlias = list[dict[str, Any]]


class AnswerBlocks:
    """Shows what is said by the best means that a workspace takes; what it refuses is left out for a time."""

    def __init__(self, texts: Texts, *, thumbs: bool) -> None:
        """`thumbs`: what agents have said to its end has buttons to rate it."""
        self._texts = texts
        self._thumbs = thumbs

    async def show(
        self,
        said: Callable[[bool], Blocks],
        speaker: Speaker,
        workspace: Workspace,
        call: Callable[[Blocks], Awaitable[_Answer]],
        *,
        final: bool,
    ) -> tuple[_Answer, Blocks]:
        """The answer of the call, and the blocks shown. `said` makes them, with tables or without."""
        forms = [said(workspace.takes("tables"))]
        if any(block["type"] == "table" for block in forms[0]):
            forms.append(said(False))
        rated = final and self._thumbs and bool(speaker.id) and workspace.takes("thumbs")
        below = [[feedback_block(self._texts)], []] if rated else [[]]
        tries = [(blocks, thumbs) for blocks in forms for thumbs in below]
        for blocks, thumbs in tries[:-1]:
            try:
                answer = await call([*blocks, *thumbs])
            except BadMarkup as error:
                _log.info("Slack does not take a block here", extra={"error": str(error)})
                continue
            break
        else:
            blocks, thumbs = tries[-1]
            answer = await call([*blocks, *thumbs])
        if thumbs != below[0]:
            workspace.refuses("thumbs")
        if blocks != forms[0]:
            workspace.refuses("tables")
        return answer, blocks
