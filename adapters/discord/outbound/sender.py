"""Sending on Discord: by a webhook or the bot, in a thread that may have to be opened, checked afterwards."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any, Final, Literal, NoReturn

from msgspec import Struct

from adapters.adapter import Call, FileData
from adapters.capabilities import Draws
from adapters.discord.api.bot import DiscordApi
from adapters.discord.api.calls import DiscordCalls, HookGone, NoVoiceHere, PlaceGone, TooOld
from adapters.discord.api.webhooks import HookApi, WebhookSpot
from adapters.discord.codec.addresses import (
    PLATFORM,
    answer_line,
    channel_id_of,
    is_private,
    link_to,
    moment_of,
    name_of,
    nonce_of,
    number_of,
    page_of,
)
from adapters.discord.codec.payload import DiscordPost, DiscordWords, voice_note
from adapters.discord.limits import CAPABILITIES, CHANNEL_BUDGET, HOOK_BUDGET, HOOKS_BUDGET, OTHER_BUDGET
from adapters.discord.outbound.threads import DiscordThreads
from adapters.discord.outbound.webhooks import DiscordWebhooks, UnconfirmedPosts, is_hooked, seat_of
from adapters.recent import RecentValues
from runtime.core.address import Address, Speaker
from runtime.core.clock import Clock
from runtime.core.errors import AdapterError, MessageGone, ShownDiffers
from runtime.core.message import Choice

MAX_LINES: Final = 5000
"""The number of webhook messages whose answer line is remembered, so that edits keep it."""
_POST: Final = "POST /channels/{channel_id}/messages"
_PATCH: Final = "PATCH /channels/{channel_id}/messages/{message_id}"
_HOOK_POST: Final = "POST /webhooks/{webhook_id}/{webhook_token}"
_HOOK_PATCH: Final = "PATCH /webhooks/{webhook_id}/{webhook_token}/messages/{message_id}"
_POSTING: Final = frozenset[Call]({"send", "upload"})
_CHANGING: Final = frozenset[Call]({"edit", "offer"})

_log = logging.getLogger(__name__)


class DiscordText(Struct, frozen=True):
    """A text to post, with its place and speaker; the fields are those of `Adapter.send` and `CanUpload.upload`."""

    to: Address
    text: str
    speaker: Speaker
    nonce: str
    reply_to: str | None = None
    file: FileData | None = None

    @property
    def answered(self) -> str | None:
        """Discord's id of the answered message; None in a thread that starts with that message."""
        number = None if self.reply_to is None else number_of(self.reply_to)
        return None if number == self.to.thread else number


class DiscordSender:
    """The calls that post, change and delete our messages."""

    def __init__(
        self,
        calls: DiscordCalls,
        posts: UnconfirmedPosts,
        clock: Clock,
        show_names: Literal["webhooks", "headings", "never"],
        avatar_url: str | None,
        unnamed: str,
    ) -> None:
        self._calls = calls
        self._api = DiscordApi(calls)
        self._posts = posts
        self._hooks = DiscordWebhooks(HookApi(calls), self._api, clock, posts)
        self._threads = DiscordThreads(self._api, unnamed)
        self._clock = clock
        self._show_names = show_names
        self._avatar_url = avatar_url
        self._lines = RecentValues[str, str](MAX_LINES)
        self._answered = RecentValues[str, str](MAX_LINES)

    def draws(self, to: Address, call: Call, /, *, speaker: Speaker | None = None) -> Draws:
        """Separate buckets for posting and editing, and for each webhook. A webhook's calls do not count as the bot's;
        its posts count for its channel as well. A route's limit is the documented one until answers have told it.
        """
        told, posts, changes = self._calls.rest.size, call in _POSTING, call in _CHANGING
        if (posts or changes) and speaker is not None and self._through_hooks(to, speaker):
            key = f"{PLATFORM}:{to.conversation}:webhook"
            own = f"{key} {seat_of(speaker.id)}"
            if changes:
                return ((f"{own}:edit", told(_HOOK_PATCH) or HOOK_BUDGET),)
            return (f"{own}:post", told(_HOOK_POST) or HOOK_BUDGET), (f"{key}s", HOOKS_BUDGET)
        size = told(_POST if posts else _PATCH) or CHANNEL_BUDGET if posts or changes else OTHER_BUDGET
        kind = "post" if posts else "edit" if changes else call
        return (f"{PLATFORM}:{channel_id_of(to)}:{kind}", size), (PLATFORM, CAPABILITIES.total_budget)

    def _through_hooks(self, to: Address, speaker: Speaker) -> bool:
        """Whether this speaker uses a webhook there, as far as known."""
        wanted = self._show_names == "webhooks" and not is_private(to)
        return wanted and bool(speaker.id) and self._hooks.available(to.conversation)

    def doubt(self, nonce: str, /) -> None:
        """As the port says, for posts of webhooks: Discord itself knows the nonces of the bot's own."""
        self._posts.doubt(nonce)

    def unless(self, nonce: str, away: Callable[[], bool], /) -> None:
        self._hooks.away.keep(nonce, away)

    async def post(self, said: DiscordText, *, final: bool) -> str:
        """Post a message; returns our id of it. A known post with another text is edited to the final one."""
        message = await self._threads.within(said.to, lambda: self._posted(said))
        known_as = str(message["id"])
        words = self._words(said.to, known_as, said.text, said.speaker)
        silent = said.file is not None and not said.text  # a voice message cannot be edited
        if final and not silent and not _shows(message, words, channel_id_of(said.to)):
            await self.change(said.to, known_as, said.text, said.speaker, final=True)
        return known_as

    async def change(
        self,
        to: Address,
        message: str,
        text: str,
        speaker: Speaker,
        *,
        final: bool,
        choices: Sequence[Choice] | None = None,
    ) -> None:
        if not final and self._is_old(message):
            await self._make_way(to, message, speaker, "it is too old for Discord to let it grow")
        await self._know_line(to, message)
        words = self._words(to, message, text, speaker)
        try:
            if is_hooked(message):
                shown = await self._hooks.edit(_spot(to), message, words, choices)
            else:
                shown = await self._api.edit(channel_id_of(to), message, words, choices)
        except TooOld as error:
            await self._make_way(to, message, speaker, str(error))
        except HookGone as error:
            if choices is None and await self._stands(to, message, words):
                return
            taken_away = await self._taken_away(to, message)
            told = {"message_id": message, "taken_away": taken_away, "error": str(error)}
            _log.warning("A webhook of ours was deleted, and its text is said again", extra=told)
            raise MessageGone(str(error)) from error
        if final and not _shows(shown, words, channel_id_of(to)):
            raise ShownDiffers(f"Discord shows another text than message {message} should have, or elsewhere")

    async def delete(self, to: Address, message: str, /, *, speaker: Speaker) -> None:
        with suppress(MessageGone, PlaceGone):
            if not is_hooked(message):
                await self._api.delete(channel_id_of(to), message)
                return
            try:
                await self._hooks.delete(_spot(to), message)
            except HookGone:
                await self._taken_away(to, message)

    async def _taken_away(self, to: Address, message: str) -> bool:
        """Let the bot itself delete a message of a webhook that no longer exists; returns whether it could."""
        try:
            await self._api.delete(channel_id_of(to), number_of(message))
        except AdapterError:
            return False
        return True

    async def _stands(self, to: Address, message: str, words: DiscordWords) -> bool:
        place, number = channel_id_of(to), number_of(message)
        with suppress(AdapterError):
            found = await self._api.after(place, str(int(number) - 1))
            return any(str(one["id"]) == number and _shows(one, words, place) for one in found)
        return False

    async def _posted(self, said: DiscordText) -> dict[str, Any]:
        to, speaker = said.to, said.speaker
        if (spoken := await self._voiced(said)) is not None:
            return spoken
        if self._through_hooks(to, speaker):
            line = await self._answer_line(said)
            words = page_of(said.text, speaker, named=False)
            name = name_of(speaker, self._avatar_url)
            post = DiscordPost(words.under(line) if line else words, name=name, file=said.file)
            message = await self._hooks.send(_spot(to), speaker.id, post, said.nonce)
            if message is not None:
                self._remember(str(message["id"]), line)
                await self._threads.join(to)
                return message
        page = self._page(to, said.text, speaker)
        own = DiscordPost(page, nonce=nonce_of(said.nonce), reply_to=said.answered, file=said.file)
        return await self._api.send(channel_id_of(to), own)

    async def _voiced(self, said: DiscordText) -> dict[str, Any] | None:
        """A voice message, by the bot itself; None for what is none, and where none is allowed: it is a file then."""
        voice = None if said.file is None or said.text.strip() else voice_note(said.file)
        if voice is None:
            return None
        post = DiscordPost(DiscordWords(""), nonce_of(said.nonce), said.answered, file=said.file, voice=voice)
        try:
            return await self._api.send(channel_id_of(said.to), post)
        except NoVoiceHere:
            return None

    async def _answer_line(self, said: DiscordText) -> str | None:
        if said.answered is None:
            return None
        server = await self._hooks.server(said.to.conversation, said.speaker.id)
        return None if server is None else answer_line(link_to(server, channel_id_of(said.to), said.answered))

    def answers(self, message: str, answered: str, /) -> None:
        """As the port says, for messages of webhooks: Discord itself shows what the bot's own answer."""
        if is_hooked(message) and message not in self._lines:
            self._answered.keep(message, number_of(answered))

    async def _know_line(self, to: Address, message: str) -> None:
        """Make the line of a message that another process has posted, or that was posted long ago."""
        answered = self._answered.get(message)
        if answered is None or answered == to.thread:
            return
        with suppress(HookGone):
            server = await self._hooks.server_of(_spot(to), message)
            if server is not None:
                self._remember(message, answer_line(link_to(server, channel_id_of(to), answered)))
        self._answered.forget(message)

    def _remember(self, message: str, line: str | None) -> None:
        if line is not None:
            self._lines.keep(message, line)

    def _words(self, to: Address, message: str, text: str, speaker: Speaker) -> DiscordWords:
        """The text of a message of ours: a webhook's has its name beside it, the bot's above it."""
        if not is_hooked(message):
            return self._page(to, text, speaker)
        words, line = page_of(text, speaker, named=False), self._lines.get(message)
        return words if line is None else words.under(line)

    def _page(self, to: Address, text: str, speaker: Speaker) -> DiscordWords:
        named = self._show_names != "never" and not (is_private(to) and speaker.leads)
        return page_of(text, speaker, named=named)

    def _is_old(self, message: str) -> bool:
        age, limit_s = self._clock.now() - moment_of(number_of(message)), CAPABILITIES.editable_for_s
        return limit_s is not None and age.total_seconds() > limit_s

    async def _make_way(self, to: Address, message: str, speaker: Speaker, why: str) -> NoReturn:
        """Delete a message whose text continues in a new one. Raises MessageGone, always."""
        with suppress(AdapterError):  # then the old one stays, with the text it had
            await self.delete(to, message, speaker=speaker)
        raise MessageGone(f"Message {message} makes way for a new one: {why}")


def _shows(message: dict[str, Any], words: DiscordWords, place: str) -> bool:
    """Whether Discord shows this text in this place. Discord removes white space at both ends."""
    told = str(message.get("content", "")).strip(), str(message.get("channel_id"))
    return told == (words.text.strip(), place)


def _spot(to: Address) -> WebhookSpot:
    return WebhookSpot(to.conversation, to.thread)
