"""No test is skipped where `make test` runs: what cannot be there is not collected."""

from __future__ import annotations

import re
from pathlib import Path

TESTS = Path(__file__).parents[1]
SKIPS = re.compile(r"pytest\.(?:mark\.)?(?:skip|skipif|importorskip|xfail)\b")
ELSEWHERE = {"unit/runtime/storage/embedded/test_valkey.py": 1}
"""Skipped on systems without /proc."""


def test_no_test_is_skipped() -> None:
    found = {
        str(path.relative_to(TESTS)): len(SKIPS.findall(path.read_text()))
        for path in TESTS.rglob("*.py")
        if path != Path(__file__) and SKIPS.search(path.read_text())
    }
    assert found == ELSEWHERE
