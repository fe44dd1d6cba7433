"""Programs that are laid out compile to what they did, and stay as they are when they are laid out again."""

import re
import subprocess
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from runtime.authoring.formatting import formatted
from runtime.language.compiler import CompileResult
from runtime.language.diagnostics import ProgramRejected
from tests.language.case import read_cases
from tests.language.test_anything import changed, some_text, taken

ROOT = Path(__file__).parents[2]
_FENCE = re.compile(r"^(`{3,}|~{3,})markdown\n(.*?)^\1$", re.MULTILINE | re.DOTALL)


def programs() -> list[tuple[str, str]]:
    """Every program that there is here, with its place: files, cases of the language, blocks of the documentation."""
    listed = subprocess.run(["git", "ls-files", "-z", "*.pb", "*.md"], cwd=ROOT, capture_output=True, check=True)
    files = [ROOT / name for name in listed.stdout.decode().split("\0") if name]
    found = [
        (str(path), path.read_text()) for path in files if path.suffix == ".pb" or "language/programs" in str(path)
    ]
    found += [("case.pb", case.program) for case in read_cases() if case.file.endswith(".pb")]
    blocks = [
        block for path in files if path.is_relative_to(ROOT / "docs") for block in _FENCE.findall(path.read_text())
    ]
    return found + [("page.pb", block[1]) for block in blocks]


def words(text: str) -> list[str]:
    """The rows with something in them, without what lays them out: blanks at both ends, hashes, marks of items."""
    rows = [row.expandtabs(4).strip("#*+- \ufeff") for row in re.split(r"\r\n|\r|\n", text)]
    return [found for row in rows if (found := " ".join(row.split()))]


def check(text: str, file: str) -> bool:
    """Whether the text could be laid out; then it means what it did, and stays so."""
    try:
        new = formatted(text, file)
    except ProgramRejected:
        return False
    assert formatted(new, file) == new
    assert words(new) == words(text)
    if new != text:
        before, after = taken(text, file), taken(new, file)
        if isinstance(before, CompileResult):
            assert isinstance(after, CompileResult)
            assert after.program.pbasm == before.program.pbasm
    return True


def test_every_program_here_means_the_same_and_stays_laid_out() -> None:
    found = programs()
    assert len(found) > 300
    assert sum(check(text, file) for file, text in found) > len(found) * 0.9


@settings(max_examples=100, deadline=None, derandomize=True)
@given(text=st.one_of(changed(), some_text))
def test_any_text_means_the_same_and_stays_laid_out(text: str) -> None:
    check(text, "p.pb")


LOOSE = """\
#   Clerk
Serves.\x20\x20



Prose  and   blanks.

| a | b |
|---|---|
* left alone
## Main  ##


### Steps

*   Ask the user for their $name:str
    + If $name is "x"
\t\t* Tell the user  "two  blanks"\x20\x20
\t\t  and more
    <!-- why -->
1) $x = Find(
   $name)
- End program

```python
@playbook
async def Find(name):\x20\x20\x20
    return   1
```
"""
NEAT = """\
# Clerk
Serves.

Prose  and   blanks.

| a | b |
|---|---|
* left alone

## Main

### Steps
- Ask the user for their $name:str
  - If $name is "x"
    - Tell the user  "two  blanks"
      and more
    <!-- why -->
1) $x = Find(
   $name)
- End program

```python
@playbook
async def Find(name):\x20\x20\x20
    return   1
```
"""


def test_headings_lists_and_blank_lines_are_laid_out_and_nothing_else() -> None:
    assert formatted(LOOSE, "p.pb") == NEAT


def test_frontmatter_line_ends_and_the_mark_at_the_beginning_stay() -> None:
    text = "\ufeff#!/usr/bin/env parley\r\n---\r\ntitle: |\r\n  a\r\n\r\n\r\n  b\r\n---\r\n#  A\r\n"
    assert formatted(text, "p.pb") == text.replace("#  A", "# A")


def test_a_fence_that_is_never_closed_is_refused() -> None:
    with pytest.raises(ProgramRejected, match="never closed"):
        formatted("# A\n```python\n", "p.pb")
