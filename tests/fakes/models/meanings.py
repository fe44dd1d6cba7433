"""A model for meanings that knows a few subjects: texts about one have the same vector, all others their own."""

import hashlib
from collections.abc import Sequence

from gateway.models.answers import BilledPerson

NUMBERS = 256
SUBJECTS = (
    ("vegetarian", "cook for", "no meat"),
    ("cello", "spends her sundays", "music"),
    ("oslo", "visit them"),
)
"""Words that mean the same here."""


def vector_of(text: str) -> bytes:
    """What a text means."""
    subject = next((subject[0] for subject in SUBJECTS if any(word in text.lower() for word in subject)), text)
    found = b""
    while len(found) < NUMBERS:
        found += hashlib.sha256(f"{subject} {len(found)}".encode()).digest()
    return found


class Embedding:
    """Implements `Embedder`. `asked` are the texts of each request; there is an answer while
    `answers`."""

    def __init__(self, model: str = "openai/meaning") -> None:
        self.model = model
        self.asked: list[Sequence[str]] = []
        self.paid: list[BilledPerson] = []
        self.answers = True
        self.numbers = NUMBERS

    async def embed(self, texts: Sequence[str], payer: BilledPerson, /) -> Sequence[bytes] | None:
        """A vector for each, shorter where `numbers` is less."""
        self.asked.append(texts)
        self.paid.append(payer)
        return [vector_of(text)[: self.numbers] for text in texts] if self.answers else None
