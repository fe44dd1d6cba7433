"""The turns of an endless Python playbook, which starts again without growing its journal."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Again:
    """Returned by an endless Python playbook: begin again with these arguments, and let the journal collapse."""

    args: tuple[Any, ...] = ()

    @classmethod
    def call(cls, *args: Any) -> Again:
        """`return Again(x)` in a playbook."""
        return cls(args)
