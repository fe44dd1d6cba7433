"""The context of a step: what a model's reading of it depends on."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator

from runtime.language.pbasm.notation import signature
from runtime.language.syntax.nodes import ListItem, ParsedPlaybook


def normalised(text: str) -> str:
    """A step's words with single blanks."""
    return " ".join(text.split())


def context_of(playbook: ParsedPlaybook, line: int) -> str | None:
    """The digest of what stands around the step that is written in `line`: its playbook's heading, the steps above it
    that it belongs to, its own line, and the step before it. None where no step begins in that line.
    """
    found = next(_ways(playbook.steps, line, ()), None)
    if found is None:
        return None
    digest = hashlib.sha256()
    for part in map(normalised, (signature(playbook), *found)):
        digest.update(len(part).to_bytes(8, "big") + part.encode(errors="surrogatepass"))
    return digest.hexdigest()[:16]


def _ways(items: tuple[ListItem, ...], line: int, above: tuple[str, ...]) -> Iterator[tuple[str, ...]]:
    before = ""
    for item in items:
        if item.span.line == line:
            yield (*above, before, item.text)
        yield from _ways(item.children, line, (*above, item.text))
        before = item.text
