"""People who talk all the time, and what they have noticed."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby

import anyio
from anyio.abc import TaskGroup

from tests.e2e.talks import TelegramTalk, until_begun
from tests.e2e.tellers import HELLO
from tests.fakes.telegram.platform import TelegramPlatform


class Crowd:
    """Each of them says something, waits for the answer, and says the next thing, as long as they talk."""

    def __init__(self, platform: TelegramPlatform, chats: Sequence[int]) -> None:
        self.talks = [TelegramTalk(platform, chat=chat) for chat in chats]
        self.longest_s = 0.0
        """The longest time that somebody waited for an answer."""
        self._said = dict.fromkeys(chats, 0)
        self._may_talk = anyio.Event()
        self._quiet = anyio.Event()
        self._talking = 0

    def begin(self, tasks: TaskGroup) -> None:
        """Let them talk from now on."""
        self._may_talk.set()
        for talk in self.talks:
            tasks.start_soon(self._talk, talk)

    async def fall_silent(self) -> None:
        """Return when everybody is answered and says nothing more."""
        self._may_talk, self._quiet = anyio.Event(), anyio.Event()
        if self._talking:
            await self._quiet.wait()

    @property
    def messages(self) -> int:
        """How many messages of ours they see."""
        return sum(len(talk.texts()) for talk in self.talks)

    def go_on(self) -> None:
        self._may_talk.set()

    async def more(self, times: int = 1) -> None:
        """Return when everybody was answered so often from now on."""
        wanted = {talk.chat: self._said[talk.chat] + times for talk in self.talks}
        for talk in self.talks:
            await talk.until_that(_Said(self._said, talk.chat, wanted[talk.chat] + 1))

    def check(self, *, orphans: int = 0) -> None:
        """Everything was answered once, in order; but that so many times a node died or was taken for dead between a
        platform's taking a message and our writing that down, and the next one had to say it again."""
        again = 0
        for talk in self.talks:
            wanted = [HELLO, *(f"You said: {number}" for number in range(1, self._said[talk.chat] + 1))]
            seen = [text for text, _ in groupby(talk.texts())]
            assert seen == wanted, f"{seen} is not {wanted}"
            again += talk.posts() - len(wanted)
        assert again <= orphans, f"{again} messages were said again, {orphans} may have been"

    async def _talk(self, talk: TelegramTalk) -> None:
        await talk.say("hi")
        await until_begun(talk, HELLO)
        while True:
            await self._may_talk.wait()
            self._talking += 1
            self._said[talk.chat] += 1
            began_at = anyio.current_time()
            await talk.say(str(self._said[talk.chat]))
            await talk.until_that(_Answered(talk, f"You said: {self._said[talk.chat]}"))
            self.longest_s = max(self.longest_s, anyio.current_time() - began_at)
            self._talking -= 1
            if not self._talking:
                self._quiet.set()


class _Answered:
    def __init__(self, talk: TelegramTalk, text: str) -> None:
        self._talk = talk
        self._text = text

    def __call__(self) -> bool:
        return self._talk.texts()[-1:] == [self._text]


class _Said:
    def __init__(self, said: dict[int, int], chat: int, number: int) -> None:
        self._said = said
        self._chat = chat
        self._number = number

    def __call__(self) -> bool:
        return self._said[self._chat] >= self._number
