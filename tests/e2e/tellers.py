"""Several nodes whose program tells stories on Telegram: what their tests share."""

from __future__ import annotations

from collections.abc import Sequence

from tests.e2e.gateway_process import ROOT
from tests.e2e.several_nodes import Nodes
from tests.e2e.talks import TelegramTalk, until, until_begun
from tests.fakes.telegram.platform import TOKEN

TELLER = ROOT / "tests" / "e2e" / "programs" / "teller.pb"
HELLO = "I am the teller."
END_OF_STORY = "told it once."


def telegram_settings(address: str, **more: str) -> dict[str, str]:
    """A bot that everybody may talk with."""
    return {
        "PARLEY_TELEGRAM__TOKEN": TOKEN,
        "PARLEY_TELEGRAM__BASE_URL": f"{address}/bot",
        "PARLEY_TELEGRAM__ACCESS": "open",
        **more,
    }


async def greeted(talks: Sequence[TelegramTalk]) -> None:
    """Begin all conversations."""
    for talk in talks:
        await talk.say("hi")
    for talk in talks:
        await until(talk, HELLO)


async def in_mid_story(nodes: Nodes, talks: Sequence[TelegramTalk], story: str) -> None:
    """Everybody is greeted and begins to hear a story; each message that people see is on the tape."""
    await greeted(talks)
    for talk in talks:
        await talk.say(story)
    for talk in talks:
        await until_begun(talk, "Once")
    await nodes.until(lambda: sum(len(nodes.logged(one, "page.sent")) for one in nodes.by_name) >= 2 * len(talks))


async def until_last(talks: Sequence[TelegramTalk], text: str) -> None:
    """Return when this is the last message in each conversation."""
    for talk in talks:
        await until_begun(talk, text)


async def all_answered(talks: Sequence[TelegramTalk], text: str) -> None:
    """Everybody says something and is answered."""
    for talk in talks:
        await talk.say(text)
    await until_last(talks, f"You said: {text}")


async def until_told(talks: Sequence[TelegramTalk], *, times: int) -> None:
    """Return when so many stories were told to their end in each conversation."""
    for talk in talks:
        await talk.until_that(_Told(talk, times))


class _Told:
    def __init__(self, talk: TelegramTalk, times: int) -> None:
        self._talk = talk
        self._times = times

    def __call__(self) -> bool:
        return sum(text.endswith(END_OF_STORY) for text in self._talk.texts()) == self._times
