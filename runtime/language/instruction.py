"""What a step in prose comes to."""

from __future__ import annotations

from dataclasses import dataclass

from runtime.language.program import Op


@dataclass(frozen=True, slots=True)
class Instruction:
    """A classified step. `body` is what stands in the same sentence and is done when the condition holds."""

    op: Op
    text: str
    body: str | None = None
    loop: bool = False
    known: bool = True
