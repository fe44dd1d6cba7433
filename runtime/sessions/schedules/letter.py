"""A schedule's text and time, as the text of the event that it is kept as."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Self

from runtime.core.times import Timing


@dataclass(frozen=True, slots=True)
class Wanted:
    """`text` is to be said at the times `timing`; `when` are the words in which they were given."""

    when: str
    timing: Timing
    text: str

    def __str__(self) -> str:
        return json.dumps({"when": self.when, "timing": self.timing.data(), "text": self.text}, ensure_ascii=False)

    @classmethod
    def read(cls, text: str) -> Self:
        """The inverse of `str`. Raises ValueError or LookupError."""
        found = json.loads(text)
        return cls(found["when"], Timing.read(found["timing"]), found["text"])
