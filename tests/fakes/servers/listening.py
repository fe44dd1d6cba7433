"""Recordings put into words, as the test says."""

from collections.abc import Callable, Mapping

import anyio

from gateway.features.voice.speech import ReceivedSound, UnheardReply, VoiceTranscript
from gateway.models.answers import BilledPerson


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

    async def words(self, sound: ReceivedSound, payer: BilledPerson, once: str, /) -> VoiceTranscript | UnheardReply:
        assert payer.address.platform == "test"
        assert once
        self._point()
        if self._gate is not None:
            await self._gate.wait()
        self.heard.append(sound.file.name)
        self._point()
        said = self._words.get(sound.file.name)
        return (
            UnheardReply(f"I heard nothing in {sound.file.name}.")
            if said is None
            else VoiceTranscript(said, self._language)
        )


class ScriptedSpeaker:
    """Speaks for who wants it: a note has the text itself. The first `fails` times it cannot.

    `spoke` are the texts. `point` is called before and after each; `gate` is waited for first.
    """

    def __init__(
        self,
        *wants: str,
        fails: int = 0,
        max_chars: int = 1_000,
        gate: anyio.Event | None = None,
        point: Callable[[], object] = lambda: None,
    ) -> None:
        self.wants: dict[str, bool] = dict.fromkeys(wants, True)
        self.max_chars = max_chars
        self.spoke: list[str] = []
        self._fails = fails
        self._gate = gate
        self._point = point

    async def wanted(self, person: str, /) -> bool | None:
        return self.wants.get(person)

    async def spoken(self, text: str, payer: BilledPerson, /) -> bytes | None:
        assert payer.person is not None
        self._point()
        if self._gate is not None:
            await self._gate.wait()
        self.spoke.append(text)
        self._point()
        self._fails -= 1
        return None if self._fails >= 0 else f"spoken: {text}".encode()
