"""The film of the README, taken from a real talk: `python -m tests.e2e.film docs/images/talk.gif`.

`parley dev` runs the program of docs/getting-started.md with a model of the tests, whose words come a few characters at
a time. Chromium shows the chat with the program beside it; what it shows is the film.
"""

from __future__ import annotations

import shutil
import sys
import tempfile
from collections.abc import Mapping
from functools import partial
from io import BytesIO
from pathlib import Path
from typing import Any

import anyio
from msgspec.structs import replace
from PIL import Image
from playwright.async_api import Page, async_playwright

from tests.e2e.browsing import entered, saying
from tests.e2e.example_models import script
from tests.e2e.gateway_process import gateway
from tests.e2e.operation.test_getting_started import MODEL, programs, talk
from tests.fakes.models.openai_server import OpenAIServer, Reply

SIZE = {"width": 1080, "height": 640}
FRAME_S = 0.25
LAST_S = 4.0
COLOURS = 64


def _slowly(request: Mapping[str, Any]) -> Reply:
    return replace(script(MODEL)(request), chunk_chars=3, chunk_delay_s=0.12)


class _Camera:
    """Takes a picture of a page again and again. A picture that is like the one before makes that one last longer."""

    def __init__(self, page: Page) -> None:
        self._page = page
        self.frames: list[tuple[bytes, float]] = []

    async def run(self) -> None:
        """Film until cancelled."""
        while True:
            picture = await self._page.screenshot(animations="disabled", caret="hide")
            if self.frames and self.frames[-1][0] == picture:
                self.frames[-1] = (picture, min(1.5, self.frames[-1][1] + FRAME_S))
            else:
                self.frames.append((picture, FRAME_S))

    def save(self, path: Path) -> None:
        """Write the film as a GIF that never ends."""
        pictures = [
            Image.open(BytesIO(picture)).convert("P", palette=Image.Palette.ADAPTIVE, colors=COLOURS)
            for picture, _ in self.frames
        ]
        times_ms = [round(1000 * seconds) for _, seconds in self.frames]
        times_ms[-1] = round(1000 * LAST_S)
        pictures[0].save(path, save_all=True, append_images=pictures[1:], duration=times_ms, loop=0, optimize=True)


async def _play(page: Page) -> None:
    for said, text in list(talk())[2:]:
        if said:
            await page.locator("#room-composer textarea").press_sequentially(text, delay=90)
            await page.keyboard.press("Enter")
        else:
            await saying(page, text).last.wait_for()
            await anyio.sleep(0.6)


async def film(path: Path) -> None:
    """Play the talk and write its film."""
    with tempfile.TemporaryDirectory() as directory:
        folder = Path(directory)
        (folder / "pizza.pb").write_text(programs()["pizza"])
        async with OpenAIServer(_slowly) as model, async_playwright() as playwright:
            environment = {
                "PARLEY_MODEL": "openai/test",
                "PARLEY_MODEL_BASE_URL": model.base_url,
                "PARLEY_MODEL_API_KEY": "key",
            }
            dev = gateway(folder, folder / "pizza.pb", environment, command="dev", options=["--port", "0"])
            async with dev as running, anyio.create_task_group() as tasks:
                browser = await playwright.chromium.launch(
                    executable_path=shutil.which("chromium"), args=["--no-sandbox"]
                )
                page = await entered(browser, running.url, "Ada")
                await page.set_viewport_size(SIZE)  # type: ignore[arg-type]
                await page.locator("#room-composer textarea").fill("/new")
                await page.keyboard.press("Enter")
                await saying(page, "Which one would you like?").wait_for()
                await page.mouse.move(5, 300)
                camera = _Camera(page)
                tasks.start_soon(camera.run)
                await _play(page)
                await anyio.sleep(0.5)
                tasks.cancel_scope.cancel()
            camera.save(path)


if __name__ == "__main__":
    anyio.run(partial(film, Path(sys.argv[1])))
