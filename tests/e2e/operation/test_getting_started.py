"""The page for newcomers, followed: its program is understood, and the talk that it shows is held on Telegram."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import AsyncExitStack
from functools import partial
from pathlib import Path

import pytest

from tests.e2e.example_models import script
from tests.e2e.gateway_process import ROOT, gateway, parley
from tests.e2e.talks import TelegramTalk, WebTalk, until
from tests.fakes.models.answers import Prompt, Rules, answer_with
from tests.fakes.models.openai_server import OpenAIServer
from tests.fakes.telegram.platform import PERSON, TOKEN, TelegramPlatform
from tests.fakes.telegram.server import serving

pytestmark = [pytest.mark.anyio, pytest.mark.timeout(240)]

PAGE = (ROOT / "docs" / "getting-started.md").read_text()


def block(kind: str) -> str:
    """The page's one block of this kind."""
    (found,) = re.findall(rf"^(`{{3,4}}){kind}\n(.*?)^\1$", PAGE, re.MULTILINE | re.DOTALL)
    return str(found[1])


def talk() -> Iterator[tuple[bool, str]]:
    """The talk of the page: whether the person says it, and what."""
    for line in block("text").splitlines():
        who, _, text = line.partition(": ")
        yield who == "You", text


def pizza(prompt: Prompt) -> str:
    return answer_with(pizza="Hawaii" if "Hawaii" in prompt.heard else "Funghi")


MODEL: Rules = {
    "say: .*which pizza they want": "Which one would you like?",
    "understand: .*which pizza they want": pizza,
    "say: .*do not have that one": "I am sorry, we do not have that one.",
    "say: .*whether the order is right": "Is that right?",
    "understand: .*whether the order is right": answer_with(right=True),
}


async def test_the_page_for_newcomers_followed_to_the_letter(tmp_path: Path) -> None:
    (tmp_path / "pizza.pb").write_text(block("markdown"))
    commands = re.findall(r"^(?:\.venv/bin/parley|make run) (.+?)$", PAGE, re.MULTILINE)
    assert commands == ["compile pizza.pb --explain", "check", "PROGRAM=pizza.pb", "PROGRAM=pizza.pb"]
    status, explained, _ = await parley(tmp_path, *commands[0].split())
    assert status == 0
    assert "Call PriceOf(pizza=$pizza)" in explained
    platform = TelegramPlatform()
    async with OpenAIServer(script(MODEL)) as model, serving(platform) as address:
        environment = {
            "PARLEY_MODEL": "openai/test",
            "PARLEY_MODEL_BASE_URL": model.base_url,
            "PARLEY_MODEL_API_KEY": "key",
            "PARLEY_TELEGRAM__TOKEN": TOKEN,
            "PARLEY_TELEGRAM__BASE_URL": f"{address}/bot",
        }
        async with gateway(tmp_path, tmp_path / "pizza.pb", environment, fresh=True) as running:
            (code,) = await running.prints(r"telegram .*owner: (\S+)")
            person = TelegramTalk(platform, chat=PERSON)
            await person.say(code[1])
            await person.until_that(lambda: len(person.texts()) == 1)
            shown = person.texts()
            await person.say("/start")
            for said, text in talk():
                if said:
                    await person.say(text)
                else:
                    shown.append(text)
                    await until(person, *shown)


async def test_the_talk_of_the_page_is_held_to_the_letter_without_a_model(tmp_path: Path) -> None:
    (tmp_path / "pizza.pb").write_text(block("markdown"))
    options = [*re.findall(r"parley dev pizza.pb (--model scripted)`", PAGE)[0].split(), "--port", "0"]
    person = WebTalk("lobby")
    async with (
        gateway(tmp_path, tmp_path / "pizza.pb", command="dev", options=options) as running,
        AsyncExitStack() as stack,
    ):
        await person.look(running, stack)
        await person.say("/new")
        await person.until_that(lambda: len(person.texts()) == 2)
        shown = 2
        for said, text in list(talk())[2:]:
            if said:
                await person.say(text)
                continue
            shown += 1
            await person.until_that(partial(_stands, person, shown, text))


def _stands(person: WebTalk, count: int, text: str) -> bool:
    """Whether the so-manieth text is that of the page; in place of the model's words, those of the step in brackets."""
    texts = person.texts()
    own = text not in MODEL.values()
    return len(texts) == count and (texts[-1] == text if own else texts[-1][:1] + texts[-1][-1:] == "[]")
