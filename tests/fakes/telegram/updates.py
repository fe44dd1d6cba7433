"""The updates of a bot: kept until they are acknowledged by an offset, fetched by one long poll at a time."""

import itertools
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import anyio
import httpx

from tests.fakes.telegram.refusal import Refusal

_TAKEN = (
    "Conflict: terminated by other getUpdates request; make sure that only one bot instance is running",
    "Conflict: can't use getUpdates method while webhook is active; use deleteWebhook to delete the webhook first",
)


class UpdateQueue:
    """`waiting` is True while a poll waits for an update; `noticed` is called when one begins to."""

    def __init__(self, noticed: Callable[[], None]) -> None:
        self._noticed = noticed
        self.webhook_url = ""
        self.secret = ""
        self.last_error = ""
        self.waiting = False
        self._seen: dict[int, dict[str, Any]] = {}
        self._pending: list[dict[str, Any]] = []
        self._again: list[dict[str, Any]] = []
        self._allowed: Sequence[str] = ()
        self._ids = itertools.count(700_000_001)
        self._newest_poll = 0
        self._changed = anyio.Event()

    @property
    def pending(self) -> list[int]:
        """Ids of the updates that are not acknowledged."""
        return [update["update_id"] for update in self._pending]

    def put(self, content: Mapping[str, Any]) -> int:
        """Keep an update and return its id. Types the bot did not ask for are lost, as on the platform."""
        update = {"update_id": next(self._ids), **content}
        self._seen[update["update_id"]] = update
        if not self._allowed or any(kind in self._allowed for kind in content):
            self._pending.append(update)
            self.wake()
        return int(update["update_id"])

    def again(self, update_id: int) -> None:
        """Deliver an update once more with the next answer, even where it was acknowledged."""
        self._again.append(self._seen[update_id])
        self.wake()

    def content_of(self, update_id: int) -> Mapping[str, Any]:
        return self._seen[update_id]

    def withdraw(self) -> None:
        """Forget what was not fetched."""
        self._pending.clear()

    def message_of(self, update_id: int) -> int:
        """The number of the message that an update brought."""
        update = self._seen[update_id]
        return int((update.get("message") or update["edited_message"])["message_id"])

    def send_to(self, url: str, secret: str, allowed: Sequence[str]) -> None:
        """Send updates to an address from now on; an empty one ends that."""
        self.webhook_url, self.secret, self._allowed = url, secret, allowed or self._allowed
        self.wake()

    async def deliver(self, http: httpx.AsyncClient) -> None:
        """Send updates one after the other, for ever; what is not answered with success is sent again."""
        while True:
            changed = self._changed
            if not self.secret or not (self._pending or self._again):
                await changed.wait()
                continue
            update = (self._again or self._pending)[0]
            if await self._sent(http, update):
                if self._again:
                    self._again.pop(0)
                else:
                    self._pending = [one for one in self._pending if one is not update]
            else:
                with anyio.move_on_after(0.05):
                    await changed.wait()
            self._noticed()

    async def _sent(self, http: httpx.AsyncClient, update: Mapping[str, Any]) -> bool:
        headers = {"X-Telegram-Bot-Api-Secret-Token": self.secret}
        try:
            answer = await http.post(self.webhook_url, json=update, headers=headers)
        except httpx.HTTPError as error:
            self.last_error = repr(error)
            return False
        self.last_error = "" if answer.is_success else f"Wrong response from the webhook: {answer.status_code}"
        return answer.is_success

    def wake(self) -> None:
        self._changed.set()
        self._changed = anyio.Event()

    async def fetch(self, params: Mapping[str, Any]) -> list[dict[str, Any]]:
        """One getUpdates: `offset` acknowledges all before it; a newer call ends an older one with 409."""
        if self.webhook_url:
            raise Refusal(409, _TAKEN[1])
        self._newest_poll += 1
        mine = self._newest_poll
        self.wake()
        self._allowed = params.get("allowed_updates", self._allowed)
        self._acknowledge(params.get("offset", 0))
        try:
            with anyio.move_on_after(min(int(params.get("timeout", 0)), 50)):
                while not (self._pending or self._again):
                    changed = self._changed
                    self.waiting = True
                    self._noticed()
                    await changed.wait()
                    if mine != self._newest_poll:
                        raise Refusal(409, _TAKEN[0])
        finally:
            self.waiting = self.waiting and mine != self._newest_poll
        again, self._again = self._again, []
        return again + self._pending[: max(1, min(int(params.get("limit", 100)), 100))]

    def _acknowledge(self, offset: int) -> None:
        if offset < 0:
            del self._pending[:offset]
        else:
            self._pending = [update for update in self._pending if update["update_id"] >= offset]
