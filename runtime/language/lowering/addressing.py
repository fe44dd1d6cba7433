"""The addressee of a `Say` that its author wrote as a call."""

from __future__ import annotations

from runtime.language.syntax.signature import parse_python
from runtime.language.vocabulary.phrase import phrase

_ADDRESSEES = phrase("addressees")


def said_to_somebody(text: str, target: str) -> str:
    """A `Say` with its addressee, which is `target` where it names none."""
    said = text[len("Say(") : -1].strip()
    try:
        call = parse_python(f"f({said})").body[0].value  # type: ignore[attr-defined]
        alone = len(call.args) == 1 and not call.keywords
    except (SyntaxError, ValueError, RecursionError, MemoryError, IndexError, AttributeError):
        first = said.partition(",")[0].strip().strip("\"'")
        targeted = "," in said and (_ADDRESSEES.begins(first) or first.isidentifier())
        alone = not targeted or (said[:1] in "\"'" and " " in first)
    return f"Say({target}, {said})" if alone and said else text
