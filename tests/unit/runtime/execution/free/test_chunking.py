"""However a reply is cut into pieces, the same is executed, and the same is shown."""

import asyncio
from collections.abc import Sequence
from typing import Any, cast

from hypothesis import example, given, settings
from hypothesis import strategies as st

from runtime.execution.free.reply_run import ReplyRun
from tests.unit.runtime.execution.free.test_reply_run import HELLO, STEP_1, STEP_2, Stage

LINES = (
    STEP_1,
    STEP_2,
    HELLO,
    "# recap: one; 'two'\n# plan: \"three\"",
    "# trig? no",
    'await Say("user", "Zeile 1\\nsaid \\"hi\\" \\u00e4 \\x41")',
    "await Say('user', f'{name}, {{}} and {count + 1}!')",
    'await Say("user", """several\nlines "here"\n\nand `code`""")',
    'await Say("user", "one " "and " f"{name}")',
    "if name:\n    await Say('user', 'x')\nelse:\n    count = 2",
    "$count = 3",
    "count = [\n    1,\n    2,\n]",
    "x = {'a': \"```\"}  # no fence",
    "await Say(\"user\", r'C:\\new')",
    "await Say('Nobody', 'secret')",
    "import os",
    "y = (",
    'await Yld("user")',
    "await Return(1)",
    "```\nand prose\n```python",
    "\U0001f600 = 1",
)

REPLIES = st.lists(st.sampled_from(LINES), max_size=8).map(lambda lines: "```python\n" + "\n".join(lines) + "\n```")
CUTS = st.lists(st.integers(1, 15), min_size=1, max_size=40)


async def taken(text: str, cuts: Sequence[int]) -> tuple[object, ...]:
    """What came of a reply in pieces of these sizes, again and again."""
    stage = Stage({"name": "Ada", "count": 3})
    reply = ReplyRun(cast("Any", stage), ())
    at = number = 0
    while at < len(text) and not reply.over:
        size = cuts[number % len(cuts)]
        await reply.feed(text[at : at + size])
        at, number = at + size, number + 1
    if not reply.over:
        await reply.close()
    return stage.ran, stage.said, [stream.text for stream in stage.streams], reply.rejected


@settings(max_examples=150, deadline=None)
@given(REPLIES, CUTS)
@example("```python\r\n" + STEP_1 + "\r\n" + HELLO + "\r\n```", [1])
@example('await Step("Main:01:QUE")\nawait Say("user", "\\', [1, 2])
def test_pieces_make_no_difference(text: str, cuts: list[int]) -> None:
    whole = asyncio.run(taken(text, [len(text) or 1]))
    assert asyncio.run(taken(text, cuts)) == whole
    assert asyncio.run(taken(text, [1])) == whole


@settings(max_examples=60, deadline=None)
@given(st.text(max_size=200), CUTS)
def test_pieces_of_anything_make_no_difference(text: str, cuts: list[int]) -> None:
    assert asyncio.run(taken(text, cuts)) == asyncio.run(taken(text, [len(text) or 1]))
