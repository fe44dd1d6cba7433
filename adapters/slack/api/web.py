"""A bot's calls of Slack's Web API about messages, people, indicators and files.

Files are fetched with the bot's token, and sent in the three steps that Slack has for it
(docs.slack.dev/messaging/working-with-files).
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from typing import Any, Final
from urllib.parse import urlsplit

import aiohttp
import anyio
from msgspec import Struct
from slack_sdk.web.async_slack_response import AsyncSlackResponse

from adapters.adapter import FileData
from adapters.slack.api.calls import SlackCalls, told
from adapters.slack.codec.addresses import AuthorFace, SlackBot, SlackPerson
from adapters.slack.codec.brought import tables_in
from adapters.slack.codec.mentions import escape
from adapters.slack.limits import MAX_FALLBACK_BYTES
from runtime.core.errors import NotDelivered, OutcomeUncertain

NONCE_EVENT: Final = "parley_message"
PAGE_SIZE: Final = 200
"""Messages fetched at once (docs.slack.dev recommends at most 200)."""
MOST_PAGES: Final = 5
EVERY_KIND: Final = "public_channel,private_channel,mpim,im"
Blocks = Sequence[Mapping[str, Any]]

TRANSFER_TIMEOUT_S: Final = 120.0
CHUNK_BYTES: Final = 64 * 1024


class WebApi(Struct, frozen=True):
    """The calls of one bot. Errors as `Calls.call`; AuthFailed only from `me`."""

    _calls: SlackCalls

    async def me(self) -> SlackBot:
        with self._calls.call("auth.test", at_setup=True):
            answer = await self._calls.client.auth_test()
            return SlackBot(
                team_id=told(answer, "team_id"),
                team=told(answer, "team"),
                user_id=told(answer, "user_id"),
                bot_id=told(answer, "bot_id"),
                name=told(answer, "user"),
            )

    async def send(
        self, channel: str, thread: str | None, blocks: Blocks, face: AuthorFace | None, nonce: str
    ) -> AsyncSlackResponse:
        """Post; the answer contains the message as shown. Also raises MissingScope."""
        with self._calls.call("chat.postMessage"):
            answer = await self._calls.client.chat_postMessage(
                channel=channel,
                thread_ts=thread,
                unfurl_links=False,
                unfurl_media=False,
                metadata=nonce_data(nonce),
                **_shown(blocks),
                **under_name(face),
            )
            told(answer, "ts")
            return answer

    async def tell_alone(self, channel: str, thread: str | None, user: str, blocks: Blocks) -> None:
        """Show one person of the channel a text that the others do not see, while that person is there."""
        with self._calls.call("chat.postEphemeral"):
            await self._calls.client.chat_postEphemeral(
                channel=channel,
                thread_ts=thread,
                user=user,
                **_shown(blocks),
            )

    async def direct_channel(self, user: str) -> str:
        """The conversation of the app with a person; it is opened if it is not there. Also raises MissingScope."""
        with self._calls.call("conversations.open"):
            return str((await self._calls.client.conversations_open(users=user))["channel"]["id"])

    async def edit(self, channel: str, message: str, blocks: Blocks) -> AsyncSlackResponse:
        """Raises MessageGone if the message does not exist. By default, chat.update would turn names into pings."""
        with self._calls.call("chat.update"):
            return await self._calls.client.chat_update(channel=channel, ts=message, **_shown(blocks))

    async def delete(self, channel: str, message: str) -> None:
        """Raises MessageGone if the message does not exist."""
        with self._calls.call("chat.delete"):
            await self._calls.client.chat_delete(channel=channel, ts=message)

    async def react(self, channel: str, message: str, name: str) -> None:
        """Add a mark; one that is there already is no error."""
        try:
            with self._calls.call("reactions.add"):
                await self._calls.client.reactions_add(channel=channel, timestamp=message, name=name)
        except NotDelivered as error:
            if "already_reacted" not in str(error):
                raise

    async def take_back(self, channel: str, message: str, name: str) -> None:
        """Remove a mark of ours. Raises NotDelivered, also if it is not there."""
        with self._calls.call("reactions.remove"):
            await self._calls.client.reactions_remove(channel=channel, timestamp=message, name=name)

    async def thread_of(self, channel: str, message: str) -> str | None:
        """The thread that a message belongs to; None outside threads."""
        with self._calls.call("reactions.get"):
            found = await self._calls.client.reactions_get(channel=channel, timestamp=message)
            thread = found["message"].get("thread_ts")
            return None if thread is None else str(thread)

    async def permalink(self, channel: str, message: str) -> str:
        with self._calls.call("chat.getPermalink"):
            answer = await self._calls.client.chat_getPermalink(channel=channel, message_ts=message)
            return str(told(answer, "permalink"))

    async def channel_name(self, channel: str) -> str:
        """The name of a channel that the app may see: a public one, or one that it is in."""
        with self._calls.call("conversations.info"):
            return str((await self._calls.client.conversations_info(channel=channel))["channel"]["name"])

    async def person(self, user: str) -> SlackPerson:
        with self._calls.call("users.info"):
            known = (await self._calls.client.users_info(user=user, include_locale=True))["user"]
            profile = known.get("profile", {})
            name = str(profile.get("display_name") or profile.get("real_name") or known["name"])
            return SlackPerson(name, known.get("locale"), known.get("team_id"))

    async def set_status(self, channel: str, thread: str, status: str, face: AuthorFace | None) -> None:
        """Show an activity below a thread; an empty status removes it. Also raises MissingScope."""
        with self._calls.call("assistant.threads.setStatus"):
            await self._calls.client.assistant_threads_setStatus(
                channel_id=channel, thread_ts=thread, status=status, **under_name(face)
            )

    async def set_session(self, channel: str, thread: str, status: str) -> None:
        """Show that the agent works in a thread (`processing`, with a stop button) or waits (`active`)."""
        with self._calls.call("agents.sessions.setStatus"):
            await self._calls.client.agents_sessions_setStatus(channel_id=channel, thread_ts=thread, status=status)

    async def set_title(self, channel: str, thread: str, title: str) -> None:
        with self._calls.call("assistant.threads.setTitle"):
            await self._calls.client.assistant_threads_setTitle(channel_id=channel, thread_ts=thread, title=title)

    async def suggest(self, channel: str, thread: str | None, prompts: Mapping[str, str]) -> None:
        """Offer messages by the labels of their buttons, above the composer. `thread` is for an app with an
        `assistant_view` alone: with an `agent_view` Slack ignores a call that has it."""
        with self._calls.call("assistant.threads.setSuggestedPrompts"):
            await self._calls.client.assistant_threads_setSuggestedPrompts(
                channel_id=channel,
                thread_ts=thread,
                prompts=[{"title": title, "message": message} for title, message in prompts.items()],
            )

    async def open_form(self, trigger_id: str, view: Mapping[str, Any]) -> None:
        """Show a form to the person who caused `trigger_id`, which is valid for 3 s."""
        with self._calls.call("views.open"):
            await self._calls.client.views_open(trigger_id=trigger_id, view=dict(view))

    async def messages(self, channel: str, thread: str | None, since_s: float | None) -> AsyncIterator[dict[str, Any]]:
        """The messages of a thread, or of none, with metadata, after `since_s` (1970): MOST_PAGES pages at most."""
        oldest = None if since_s is None else f"{since_s:.6f}"
        cursor: str | None = None
        for _ in range(MOST_PAGES):
            messages, cursor = await self.page(channel, thread, oldest, cursor)
            for message in messages:
                yield message
            if not cursor:
                return

    async def conversations(self) -> list[str]:
        """The channels, groups and direct conversations that the bot is in: at most MOST_PAGES pages of them. Raises
        MissingScope without `channels:read`, `groups:read`, `im:read` and `mpim:read`."""
        found: list[str] = []
        cursor: str | None = None
        for _ in range(MOST_PAGES):
            with self._calls.call("users.conversations"):
                answer = await self._calls.client.users_conversations(
                    types=EVERY_KIND, exclude_archived=True, limit=PAGE_SIZE, cursor=cursor
                )
                found += [str(channel["id"]) for channel in answer["channels"]]
                cursor = (answer.get("response_metadata") or {}).get("next_cursor")
            if not cursor:
                break
        return found

    async def takes_part(self, channel: str, thread: str, bot: SlackBot) -> bool:
        async for message in self.messages(channel, thread, None):
            if bot.bot_id == message.get("bot_id") or bot.user_id == message.get("user"):
                return True
            if f"<@{bot.user_id}>" in message.get("text", ""):
                return True
        return False

    async def page(
        self, channel: str, thread: str | None, oldest: str | None, cursor: str | None
    ) -> tuple[Sequence[dict[str, Any]], str | None]:
        """Messages of a thread, oldest first, or of the channel outside of threads, newest first, after the time stamp
        `oldest`; and where the next page begins. An app that is sold outside of the Marketplace gets 15 a minute
        (docs.slack.dev/changelog, 2025-05-29)."""
        asked: dict[str, Any] = {"limit": PAGE_SIZE, "oldest": oldest, "cursor": cursor, "include_all_metadata": True}
        with self._calls.call("conversations.history" if thread is None else "conversations.replies"):
            if thread is None:
                answer = await self._calls.client.conversations_history(channel=channel, **asked)
            else:
                answer = await self._calls.client.conversations_replies(channel=channel, ts=thread, **asked)
            return answer["messages"], (answer.get("response_metadata") or {}).get("next_cursor")


def nonce_data(nonce: str) -> dict[str, Any]:
    return {"event_type": NONCE_EVENT, "event_payload": {"nonce": nonce}}


def nonce_of(message: Mapping[str, Any]) -> str | None:
    metadata = message.get("metadata") or {}
    return metadata["event_payload"].get("nonce") if metadata.get("event_type") == NONCE_EVENT else None


def _shown(blocks: Blocks) -> dict[str, Any]:
    """The blocks as they are, in which nothing pings, and the text of notifications: their start."""
    told = (block["text"]["text"] if "text" in block else block.get("title") for block in blocks)
    first = next(filter(None, told), None) or escape(tables_in(blocks, str))
    text = str(first).encode()[: MAX_FALLBACK_BYTES // 8].decode(errors="ignore")
    return {"text": text, "blocks": list(blocks), "parse": "none", "link_names": False}


def under_name(face: AuthorFace | None) -> dict[str, Any]:
    return {} if face is None else {"username": face.username, "icon_emoji": face.icon_emoji}


class FileApi(Struct, frozen=True):
    """The calls of one bot. Errors as `Calls.call`."""

    _calls: SlackCalls

    async def content(self, file_id: str, *, max_bytes: int) -> bytes:
        """A file's content. Raises NotDelivered where it is gone, too long or not to be had."""
        with self._calls.call("files.info"):
            known = (await self._calls.client.files_info(file=file_id))["file"]
            size, url = int(known.get("size") or 0), str(known.get("url_private_download") or known["url_private"])
        if size > max_bytes:
            raise NotDelivered(f"The file {known.get('name', file_id)} has {size} bytes; the limit is {max_bytes}")
        if not self._is_slacks(url):
            raise NotDelivered(f"The file {file_id} is kept outside of Slack, which the bot's token must not reach")
        return await self._fetched(url, max_bytes)

    async def put(self, file: FileData) -> str:
        """Upload the content, which nobody sees yet; returns the file's id."""
        with self._calls.call("files.getUploadURLExternal"):
            place = await self._calls.client.files_getUploadURLExternal(
                filename=file.name, length=len(file.data), alt_txt=file.alt or None
            )
            url, file_id = told(place, "upload_url"), told(place, "file_id")
        try:
            with anyio.fail_after(TRANSFER_TIMEOUT_S):
                async with self._calls.transport.session().post(url, data=file.data) as answer:
                    if answer.status != 200:
                        raise NotDelivered(f"Slack did not take the file {file.name}: HTTP {answer.status}")
        except (aiohttp.ClientError, TimeoutError) as error:
            raise OutcomeUncertain(f"The file {file.name} may not have reached Slack: {error!r}") from error
        return file_id

    async def share(self, file_id: str, name: str, channel: str, thread: str | None, comment: str) -> None:
        with self._calls.call("files.completeUploadExternal"):
            await self._calls.client.files_completeUploadExternal(
                files=[{"id": file_id, "title": name}],
                channel_id=channel,
                thread_ts=thread,
                initial_comment=comment or None,
            )

    async def is_shared(self, file_id: str, channel: str) -> bool:
        with self._calls.call("files.info"):
            known: dict[str, Any] = (await self._calls.client.files_info(file=file_id))["file"]
            return channel in {*known.get("channels", ()), *known.get("groups", ()), *known.get("ims", ())}

    async def remove(self, file_id: str) -> None:
        with self._calls.call("files.delete"):
            await self._calls.client.files_delete(file=file_id)

    async def _fetched(self, url: str, max_bytes: int) -> bytes:
        content = bytearray()
        headers = {"Authorization": f"Bearer {self._calls.token}"}
        try:
            with anyio.fail_after(TRANSFER_TIMEOUT_S):
                async with self._calls.transport.session().get(url, headers=headers, allow_redirects=False) as answer:
                    if answer.status != 200:
                        raise NotDelivered(f"Slack does not give the file: HTTP {answer.status}; scope files:read?")
                    async for chunk in answer.content.iter_chunked(CHUNK_BYTES):
                        content += chunk
                        if len(content) > max_bytes:
                            raise NotDelivered(f"The file is longer than {max_bytes} bytes")
        except (aiohttp.ClientError, TimeoutError) as error:
            raise OutcomeUncertain(f"The file could not be fetched from Slack: {error!r}") from error
        return bytes(content)

    def _is_slacks(self, url: str) -> bool:
        """Whether the token may be sent to this host."""
        host, own = urlsplit(url), urlsplit(self._calls.transport.base_url)
        slacks = host.scheme == "https" and (host.hostname or "").endswith(".slack.com")
        return slacks or (host.scheme, host.netloc) == (own.scheme, own.netloc)
