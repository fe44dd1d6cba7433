"""The pages of a list of the console, while its rows move."""

from __future__ import annotations

import json
import subprocess

import pytest

from tests.e2e.gateway_process import ROOT

SCRIPT = """
import {behindPage} from "%s";
const [rows, page] = JSON.parse(process.argv[1]);
console.log(JSON.stringify(behindPage(rows, page, (row) => row)));
"""


@pytest.mark.parametrize(
    ("page", "behind"),
    [
        pytest.param("abc", "defg", id="nothing moved"),
        pytest.param("xab", "cdefg", id="a new one is the first"),
        pytest.param("fab", "cdeg", id="one from behind came to the front"),
        pytest.param("acd", "efg", id="one is gone"),
        pytest.param("xyz", "abcdefg", id="all are new"),
        pytest.param("xac", "defg", id="one is new and one is gone"),
    ],
)
def test_no_row_is_lost_or_shown_twice_when_the_first_page_is_fetched_anew(page: str, behind: str) -> None:
    file = ROOT / "gateway" / "console" / "page" / "paging.js"
    source = file.read_text().encode("utf-8").hex()
    module = f"data:text/javascript,{''.join(f'%{source[at : at + 2]}' for at in range(0, len(source), 2))}"
    done = subprocess.run(
        ["node", "--input-type=module", "-e", SCRIPT % module, json.dumps([[*"abcdefg"], [*page]])],
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )
    assert "".join(json.loads(done.stdout)) == behind
