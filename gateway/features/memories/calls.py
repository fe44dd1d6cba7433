"""The host calls about memories: remembering something, and recalling what is known."""

from __future__ import annotations

from gateway.features.memories.session_memory import SessionMemory
from runtime.execution.frames.frame import Frame
from runtime.execution.frames.signatures import call


class MemoryCalls:
    def __init__(self, memory: SessionMemory) -> None:
        self._memory = memory

    @call("Remember", example='await Remember("is vegetarian", about="user")')
    async def remember(self, frame: Frame, text: str, about: str = "user") -> str:
        """Keeps one short fact about the person who speaks, or `about="place"` about this group or room, for later
        conversations.

        It returns "remembered", or says why not. The place where it was said decides where the fact may be used. A
        newer fact about the same thing replaces an older one.
        """
        return await self._memory.remember(frame.state, text, about)

    @call("Recall", example='facts = await Recall("diet")', reads=True)
    async def recall(self, frame: Frame, question: str) -> list[str]:
        """Returns what is remembered about the person who speaks, and about this place, that fits a question.

        The best match comes first; the list is empty if nothing fits.
        """
        return await self._memory.recall(frame.state, question)
