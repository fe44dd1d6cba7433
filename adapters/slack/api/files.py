"""Files on Slack: fetched with the bot's token, and sent in the three steps that Slack has for it.

docs.slack.dev/messaging/working-with-files; files.upload itself was switched off.
"""

from __future__ import annotations

from typing import Any, Final
from urllib.parse import urlsplit

import aiohttp
import anyio

from adapters.adapter import File
from adapters.slack.api.calls import SlackCalls, told
from runtime.core.errors import NotDelivered, OutcomeUncertain

TRANSFER_TIMEOUT_S: Final = 120.0
CHUNK_BYTES: Final = 64 * 1024


class FileApi:
    """The calls of one bot. Errors as `Calls.call`."""

    def __init__(self, calls: SlackCalls) -> None:
        self._calls = calls

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

    async def put(self, file: File) -> str:
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
        """Show an uploaded file, with a comment in mrkdwn."""
        with self._calls.call("files.completeUploadExternal"):
            await self._calls.client.files_completeUploadExternal(
                files=[{"id": file_id, "title": name}],
                channel_id=channel,
                thread_ts=thread,
                initial_comment=comment or None,
            )

    async def is_shared(self, file_id: str, channel: str) -> bool:
        """Whether a file is visible in a channel."""
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
