"""What was said in conversations, in memory."""

from collections.abc import Sequence

from msgspec.structs import replace

from runtime.core.address import Address
from runtime.core.clock import Clock
from runtime.stores.kept import KeptWords


class MemoryKeptWords:
    """Implements `runtime.stores.kept.KeptWordsStore`."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._kept: dict[str, dict[str, tuple[KeptWords, float]]] = {}

    async def keep(self, to: Address, words: KeptWords, /, *, keep_s: float, at_most: int) -> None:
        here = self._kept.setdefault(to.key, {})
        here.setdefault(words.said.message_id, (words, self._clock.monotonic() + keep_s))
        while len(here) > at_most:
            del here[next(iter(here))]

    async def change(self, to: Address, words: KeptWords, /) -> None:
        here = self._kept.get(to.key, {})
        if words.said.message_id in here:
            kept, until = here[words.said.message_id]
            said = replace(words.said, said_at=kept.said.said_at)
            here[words.said.message_id] = (replace(words, said=said), until)

    async def remove(self, to: Address, message: str, /) -> None:
        self._kept.get(to.key, {}).pop(message, None)

    async def before(self, to: Address, message: str, /) -> Sequence[KeptWords]:
        here = self._kept.get(to.key, {})
        ids = list(here)
        earlier = ids[: ids.index(message)] if message in ids else ids
        now = self._clock.monotonic()
        return [words for words, until in (here[id_] for id_ in earlier) if now < until]
