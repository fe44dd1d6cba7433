"""An answer that breaks off inside HTML: what people saw while it grew is what stands there at its end."""

import re
from collections.abc import Mapping

import pytest
from msgspec.structs import replace

from adapters.capabilities import StreamLimits
from tests.fakes.platforms.rich_platform import STREAM, rich_capabilities
from tests.unit.adapters.pages.presenting import shown_on

LINES = "".join(f"w{number:05d} = {number}\n" for number in range(120))
BEGINS = {
    "code": f"Here:\n\n<pre>\n{LINES}",
    "code with a language": f'Here:\n\n<pre><code class="language-python">\n{LINES}',
    "code behind its tag": f"<pre>first\n{LINES}",
    "code in a list": f"<ul>\n<li>one <pre>\n{LINES}",
    "a tag that a sentence names": f"<pre> keeps spaces, as *these* do.\n\n**So** it is.\n\n{LINES}",
    "code as a sentence's word": f"<code> is for code.\n\n**So** it is.\n\n{LINES}",
    "tags as a sentence's words": f"<pre>, <code> and <kbd>: tags.\n\n**So** it is.\n\n{LINES}",
}
MIXED = (
    "Here:\n\n<ol>\n<li>one <pre>\na &lt; b\n  c\n</pre></li>\n</ol>\n\n<pre> keeps spaces.\n\n"
    "<pre><code>\nx = 1\n\n<p>\ny\n</code></pre>\nend <p>of</p>\n<code>\nz\n"
)
WAYS: Mapping[str, StreamLimits | None] = {"edits": None, "streams": replace(STREAM, max_text=400)}


def seen(messages: list[str]) -> str:
    """What people read of messages: their characters without code's fences, which every message has around its own."""
    return re.sub(r"\s", "", re.sub(r"^ *```\w*$", "", "\n".join(messages), flags=re.MULTILINE))


async def shows_what_it_showed(text: str, way: str, step: int, limit: int) -> list[str]:
    async with shown_on(rich_capabilities(stream=WAYS[way], max_text=limit)) as show:
        page, states = show.page(), list[list[str]]()
        for end in range(step, len(text), step):
            page.update(text[:end])
            await show.clock.advance(0.5)
            states.append(list(show.shown))
        show.finish(page, text)
        await show.clock.advance(60)
        assert show.results == {"p": True}
        assert "page.diverged" not in show.events
        for before in states:
            assert show.shown[: len(before) - 1] == before[:-1]
            assert seen(show.shown).startswith(seen(before))
        return show.shown


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("name", BEGINS)
async def test_an_answer_that_ends_in_code_stays_as_it_grew(name: str, way: str) -> None:
    shown = await shows_what_it_showed(BEGINS[name], way, 40, 400)
    assert len(shown) > 3
    assert all(("```" in message) == ("sentence" not in name) for message in shown[1:])


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("rest", range(8))
async def test_an_answer_cut_off_anywhere_stays_as_it_grew(rest: int, way: str) -> None:
    for end in range(8 + rest, len(MIXED) + 1, 8):
        await shows_what_it_showed(MIXED[:end], way, 3, 80)
