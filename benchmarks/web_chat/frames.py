"""Frames of the chat page with a long history, in a real Chromium: `python -m benchmarks.web_chat.frames [5000]`.

A person loads the whole room, scrolls up through a part of it, jumps to its start, its middle and its end, types, and
watches an answer grow. Measured are the longest frame meanwhile and the document's nodes. The floor is the same page
doing the same in a room of 60 messages. The worst frame is the shortest of several runs, since others share machines.
"""

from __future__ import annotations

import shutil
import sys
from datetime import UTC, datetime, timedelta

import anyio
from msgspec import Struct
from playwright.async_api import Browser, Page, async_playwright, expect

from benchmarks.table import Row, show
from runtime.core.address import Address, Speaker
from runtime.core.room import AuthorKind, RoomPost
from tests.fakes.pages.room_store import RoomStoreThatFails
from tests.fakes.pages.web_chat import WebChat, web_chat

LENGTH = 5_000
FLOOR = 60
RUNS = 3
_LOBBY = Address("web", "lobby")
_GUIDE = Speaker("1000", "Guide")
_LIMIT_MS = 300_000
_HOLD = "< 100 ms"
_ANSWERS = (
    "Yes.",
    "The order was sent this morning, and it should arrive on **Thursday**. Tell me if it does not.",
    "Three things are open:\n\n- the invoice of [March](https://example.org)\n- the address\n- `config.toml`",
    '```python\ndef total(orders):\n    return sum(order.price for order in orders if order.state != "lost")\n```',
    "| item | price |\n|---|--:|\n| apples | 3 |\n| pears | 4 |\n| plums | 5 |",
)
_LOAD = """async () => {
    const scroller = document.querySelector("#room-timeline .scroller");
    const start = scroller.querySelector(".start");
    while (!start.hidden) {
        scroller.scrollTop = 0;
        await new Promise((done) => setTimeout(done, 5));
    }
}"""
_SCROLL = """async () => {
    const scroller = document.querySelector("#room-timeline .scroller");
    const lengths = [];
    let last = performance.now();
    const frame = () => new Promise((done) => requestAnimationFrame(() => {
        const now = performance.now();
        lengths.push(now - last);
        last = now;
        done();
    }));
    scroller.scrollTop = scroller.scrollHeight;
    await frame(); await frame();
    lengths.length = 0;
    for (let at = 0; at < 60; at += 1) { scroller.scrollTop -= 400; await frame(); }
    for (const part of [0, 0.5, 0.25, 1]) {
        scroller.scrollTop = scroller.scrollHeight * part;
        for (let at = 0; at < 5; at += 1) await frame();
    }
    return Math.max(...lengths);
}"""
_WATCH = """() => {
    const watched = window.longest !== undefined;
    window.longest = 0;
    if (watched) return;
    let last = performance.now();
    const frame = () => {
        const now = performance.now();
        window.longest = Math.max(window.longest, now - last);
        last = now;
        requestAnimationFrame(frame);
    };
    requestAnimationFrame(frame);
}"""


class _Found(Struct, frozen=True):
    """The document's nodes, and the worst frames in ms: while the whole history loads, while it is scrolled, while an
    answer grows and somebody types, and when the window's width changes."""

    nodes: float
    loading: float
    scrolling: float
    growing: float
    turning: float


async def _filled(length: int) -> RoomStoreThatFails:
    store = RoomStoreThatFails()
    began = datetime.now(UTC) - timedelta(minutes=length)
    for number in range(length):
        kind: AuthorKind = "agent" if number % 2 else "person"
        who = ("1000", "Guide") if number % 2 else ("web:ada", "Ada")
        text = _ANSWERS[number // 2 % len(_ANSWERS)] if number % 2 else f"Question {number}: what about it?"
        await store.put("lobby", RoomPost(f"m{number}", *who, kind, text, began + timedelta(minutes=number)))
    return store


async def _nodes(page: Page) -> float:
    tools = await page.context.new_cdp_session(page)
    await tools.send("HeapProfiler.collectGarbage")
    await tools.send("Performance.enable")
    metrics = (await tools.send("Performance.getMetrics"))["metrics"]
    return float(next(metric["value"] for metric in metrics if metric["name"] == "Nodes"))


async def _growing(page: Page, chat: WebChat, nonce: str) -> float:
    await page.evaluate(_WATCH)
    words = page.locator("#room-composer textarea")
    await chat.adapter.send(_LOBBY, "Here", speaker=_GUIDE, nonce=nonce, final=False)
    text = "Here"
    for number in range(30):
        text += f" it **grows**, word {number}\n\n- by word"
        await chat.adapter.edit(_LOBBY, nonce, text, speaker=_GUIDE, nonce=nonce, final=number == 29)
        await words.press("a")
    await expect(page.locator(f'[data-id="{nonce}"]')).to_contain_text("word 29")
    longest: float = await page.evaluate("window.longest")
    return longest


async def _turned(page: Page, width: int) -> float:
    await page.evaluate(_WATCH)
    await page.set_viewport_size({"width": width, "height": 800})
    await page.evaluate("() => new Promise((done) => setTimeout(done, 300))")
    longest: float = await page.evaluate("window.longest")
    return longest


async def _room(browser: Browser, length: int) -> _Found:
    async with web_chat(await _filled(length)) as chat:
        page = await (await browser.new_context(viewport={"width": 1280, "height": 800})).new_page()
        page.set_default_timeout(_LIMIT_MS)
        await page.goto(chat.url)
        await page.get_by_label("Your name").fill("Grace")
        await page.get_by_role("button", name="Start chatting").click()
        await expect(page.locator("#presence")).to_contain_text("here")
        await page.evaluate(_WATCH)
        await page.evaluate(_LOAD)
        loading = float(await page.evaluate("window.longest"))
        scrolling = [float(await page.evaluate(_SCROLL)) for _ in range(RUNS)]
        growing = [await _growing(page, chat, f"n{number}") for number in range(RUNS)]
        turning = [await _turned(page, width) for width in (800, 1280) * RUNS]
        return _Found(await _nodes(page), loading, min(scrolling), min(growing), min(turning))


async def measure(length: int = LENGTH) -> list[Row]:
    """The rows for a room of this length, beside one of a single page."""
    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(executable_path=shutil.which("chromium"))
        least = await _room(browser, FLOOR)
        found = await _room(browser, length)
        await browser.close()
    room, floor = f"a room of {length:,} messages", f"{FLOOR} messages"
    return [
        Row(f"{room}: nodes", found.nodes, "nodes", least.nodes, floor),
        Row(f"{room}: worst frame while all of it loads", found.loading, "ms", least.loading, floor, _HOLD),
        Row(f"{room}: worst frame while it is scrolled", found.scrolling, "ms", least.scrolling, floor, _HOLD),
        Row(f"{room}: worst frame while an answer grows", found.growing, "ms", least.growing, floor, _HOLD),
        Row(f"{room}: worst frame when the width changes", found.turning, "ms", least.turning, floor, _HOLD),
    ]


def run() -> list[Row]:
    """The rows of the table."""
    return anyio.run(measure)


if __name__ == "__main__":
    print(show(anyio.run(measure, int(sys.argv[1]) if len(sys.argv) > 1 else LENGTH)))
