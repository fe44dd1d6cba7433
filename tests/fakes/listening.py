"""Recordings put into words, as the test says."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import anyio

from runtime.voice.listener import Payer, Sound, Transcript, Unheard


class ScriptedListener:
    """Hears in a recording what stands under its name; what is not there, it cannot hear. `gate` is waited for first.

    `heard` are the names of what was listened to. `point` is called before and after each.
    """

    def __init__(
        self,
        words: Mapping[str, str],
        *,
        language: str = "english",
        gate: anyio.Event | None = None,
        point: Callable[[], object] = lambda: None,
    ) -> None:
        self._words = words
        self._language = language
        self._gate = gate
        self._point = point
        self.heard: list[str] = []

    async def words(self, sound: Sound, payer: Payer, once: str, /) -> Transcript | Unheard:
        assert payer.address.platform == "test"
        assert once
        self._point()
        if self._gate is not None:
            await self._gate.wait()
        self.heard.append(sound.file.name)
        self._point()
        said = self._words.get(sound.file.name)
        return Unheard(f"I heard nothing in {sound.file.name}.") if said is None else Transcript(said, self._language)
