"""Talk files laid out."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import anyio
import pytest

from gateway.talks.parsing.document import formatted_talks, read_head, read_talks, source_of
from gateway.talks.running import Loader
from gateway.talks.talk import Talk
from runtime.language.diagnostics import ProgramRejected

ROOT = Path(__file__).parents[4]
TALKS = sorted(ROOT.glob("examples/**/*.test.md"))
LOOSE = """\
---
people: Ada

---
#  Talks
Prose  stays,


as it is.
## One ##



* Ada: Hello,

    - over   lines
  and on
  +  Shop: Hi
3) wait 1 minute



-   model:
    ```python
    x =  1

    ```
"""
NEAT = """\
---
people: Ada

---

# Talks

Prose  stays,


as it is.

## One

- Ada: Hello,

    - over   lines
  and on
  +  Shop: Hi
3) wait 1 minute

- model:
    ```python
    x =  1

    ```
"""


def test_headings_marks_and_blank_lines_are_laid_out_and_nothing_else() -> None:
    path = Path("a.test.md")
    assert formatted_talks(LOOSE.encode(), path) == NEAT
    assert formatted_talks(NEAT.encode(), path) == NEAT


@pytest.mark.parametrize("path", TALKS, ids=lambda path: path.name)
def test_talks_say_the_same_and_stay_laid_out(path: Path) -> None:
    loose = path.read_bytes().replace(b"\n- ", b"\n\n\n*   ").replace(b"\n## ", b"\n##   ")
    new = formatted_talks(loose, path)
    assert formatted_talks(new.encode(), path) == new
    assert talks(new.encode(), path) == talks(path.read_bytes(), path)


def talks(content: bytes, path: Path) -> list[str]:
    """What the talks of a file say, without the numbers of their lines."""
    source = source_of(content, path)
    head = read_head(source)
    program = anyio.run(Loader().program, head)
    return [without_lines(talk) for talk in read_talks(source, head, program)]


def without_lines(talk: Talk) -> str:
    return repr(
        [
            (talk.title, [replace(beat.act, line=0) if beat.act else None for beat in talk.beats]),
            [[replace(one, line=0) for one in (*beat.replies, *beat.shown, *beat.expected)] for beat in talk.beats],
            [replace(one, line=0) for one in talk.never],
        ]
    )


def test_what_cannot_be_read_is_refused() -> None:
    with pytest.raises(ProgramRejected, match="never closed"):
        formatted_talks(b"---\npeople: Ada\n", Path("a.test.md"))
