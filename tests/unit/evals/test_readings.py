"""The table of lines that were once misread, and the measure of a second reader on it."""

from __future__ import annotations

import pytest

from evals.readings import measure, read_now, requests, table
from gateway.programs.second_reader import request_text
from tests.fakes.models.answering import ListedAnswers

pytestmark = pytest.mark.anyio


async def test_each_line_of_the_table_is_read_today_as_it_says_and_no_longer_as_it_was() -> None:
    rows = table()
    _, now = await read_now(rows)
    read = {
        row.line: next((one.does for one in lines if one.step == "01"), "")
        for row, lines in zip(rows, now, strict=True)
    }
    assert read == {row.line: row.right for row in rows}
    assert [row.line for row in rows if row.right == row.wrong] == []


async def test_each_line_is_shown_misread_once_and_the_measure_counts_what_is_named_and_suspected() -> None:
    asked = await requests()
    assert sorted(row.line for one in asked for row in one.wrong.values()) == sorted(row.line for row in table())
    for one in asked:
        shown = request_text(one.program, one.rows)
        for number, row in one.wrong.items():
            assert f"\nL{number} 01 {row.line} => {row.wrong}" in shown
    count = sum(len(one.wrong) for one in asked)
    right = sum(len(rows) for one in asked for rows in one.rows.values()) - count
    told: list[str] = []
    perfect = ["\n".join(f"L{number}: otherwise" for number in one.wrong) or "none" for one in asked]
    await measure(ListedAnswers(*perfect), asked, told.append)
    assert told[-1] == f"scripted: {count} of {count} misread lines named, 0 of {right} right lines suspected"
    await measure(ListedAnswers(*["L1: no"] * len(asked)), asked, told.append)
    named = sum(1 in one.wrong for one in asked)
    suspected = f"{len(asked) - named} of {right} right lines suspected"
    assert told[-1] == f"scripted: {named} of {count} misread lines named, {suspected}"
