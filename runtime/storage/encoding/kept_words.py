"""The stored form of what was said: who said it and when stays readable, the rest may be sealed."""

from __future__ import annotations

import json
from dataclasses import asdict, replace

from runtime.core.errors import ContentLocked
from runtime.core.message import attachment_from
from runtime.core.quote import quote_from_data, quote_to_data
from runtime.storage.encoding.codec import to_json
from runtime.storage.encoding.sealing import AssociatedData, Sealing, conversation_home, key_of
from runtime.stores.kept_words import KeptWords


class KeptWordsForm:
    """Writes and reads what was said as `sealing` has it."""

    def __init__(self, sealing: Sealing) -> None:
        self._sealing = sealing

    def write(self, conversation: str, words: KeptWords) -> str:
        """What was said in a conversation, as JSON."""
        content = to_json([quote_to_data(words.said), [asdict(file) for file in words.files]])
        sealed = self._sealing.of(conversation).seal(_binding(conversation, words.said.message_id), content)
        return to_json({"id": words.said.message_id, "person": words.said.person, "content": sealed})

    def read(self, conversation: str, written: str) -> KeptWords:
        """The inverse of `write`. Raises ContentLocked for what cannot be opened."""
        data = json.loads(written)
        said, files = json.loads(self._sealing.open(_binding(conversation, data["id"]), data["content"]))
        return KeptWords(quote_from_data(said), tuple(map(attachment_from, files)))

    def person(self, written: str) -> str:
        """Who said it, whether or not it can be opened."""
        return str(json.loads(written)["person"])

    def key_of(self, written: str) -> str:
        """The id of the key of what was said; "" where it is not sealed."""
        return key_of(json.loads(written)["content"])

    def anew(self, conversation: str, written: str) -> str:
        """What was said in the current form; as it is, where it cannot be opened."""
        try:
            return self.write(conversation, self.read(conversation, written))
        except ContentLocked:
            return written

    def changed(self, conversation: str, written: str, words: KeptWords) -> str:
        """What was said as it is now, with the time at which it was said first."""
        said_at = self.read(conversation, written).said.said_at
        return self.write(conversation, replace(words, said=replace(words.said, said_at=said_at)))


def _binding(conversation: str, message: str) -> AssociatedData:
    return AssociatedData(conversation_home(conversation), ("said", message))
