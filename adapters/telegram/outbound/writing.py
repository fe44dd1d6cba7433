"""Showing pages in chats by the best means that the server knows."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from typing import Any, TypeVar

from adapters.recent import Recent
from adapters.telegram.api.bot import BotApi, Target
from adapters.telegram.api.failures import ChatMoved, NotModified, NotWelcome, UnknownMethod
from adapters.telegram.chat_state import MAX_RECENT
from adapters.telegram.codec.markup import Rendered
from adapters.telegram.codec.rendering import RenderedPage, Rich, shows_it
from runtime.core.errors import AdapterError, BadMarkup, NotDelivered, OutcomeUncertain, ShownDiffers

_log = logging.getLogger(__name__)
_Answer = TypeVar("_Answer")


class Writing:
    """Formatting that is refused is left out. What a server does not know is remembered while the process lives.

    An edit that was not answered is repeated with one space of another kind: if it had been done, the same once more
    would be refused.
    """

    def __init__(self, rich: Rich) -> None:
        self._rich = rich
        self._rich_known = rich != "never"
        self._unclear: Recent[tuple[int, int], Rendered] = Recent(MAX_RECENT)

    async def post(self, api: BotApi, target: Target, page: RenderedPage, *, final: bool) -> int:
        """The message's number. Raises ShownDiffers after it has deleted a wrong message."""
        if final and self._is_rich(page):
            rich = await self._unless_refused(lambda: api.send_rich(target, page.rich()))
            if rich is not None:
                return await self._checked(api, target, rich, None)
        answer, shown = await _plain_if_refused(page.rendered(), lambda text: api.send(target, text))
        if final:
            return await self._checked(api, target, answer, shown)
        return int(answer["message_id"])

    async def change(self, api: BotApi, target: Target, message: int, page: RenderedPage, *, final: bool) -> None:
        """A message that shows the text already counts as changed. Raises ShownDiffers."""
        with suppress(NotModified):
            if final and self._is_rich(page):
                answer = await self._unless_refused(lambda: api.edit_rich(target.chat_id, message, page.rich()))
                if answer is not None:
                    return _compare(answer, None, target)
            place, rendered = (target.chat_id, message), page.rendered()
            unclear, wanted = self._unclear.get(place), rendered
            if unclear == rendered:
                wanted = rendered.respaced()
            try:
                shown = await _plain_if_refused(wanted, lambda text: api.edit(target.chat_id, message, text))
            except OutcomeUncertain:
                self._unclear.keep(place, wanted)
                raise
            self._unclear.forget(place)
            if final:
                _compare(*shown, target)
        return None

    def _is_rich(self, page: RenderedPage) -> bool:
        return self._rich_known and page.may_be_rich() and (self._rich == "always" or page.gains())

    async def _unless_refused(self, call: Callable[[], Awaitable[_Answer]]) -> _Answer | None:
        """The answer, or None where entities must do. A server that knows no rich messages is not asked again."""
        try:
            return await call()
        except (ChatMoved, NotWelcome):
            raise
        except (NotDelivered, BadMarkup) as error:
            if isinstance(error, UnknownMethod) or "text is empty" in str(error):
                self._rich_known = False
            _log.info("Telegram refuses a rich message; it is shown with entities", extra={"error": str(error)})
        return None

    async def _checked(self, api: BotApi, target: Target, answer: Mapping[str, Any], shown: Rendered | None) -> int:
        number = int(answer["message_id"])
        try:
            _compare(answer, shown, target)
        except ShownDiffers:
            with suppress(AdapterError):  # the difference is told all the same
                await api.delete(target.chat_id, number)
            raise
        return number


def _compare(answer: Mapping[str, Any], shown: Rendered | None, target: Target) -> None:
    wrong = shows_it(answer, shown, target.thread_id)
    if wrong is not None:
        raise ShownDiffers(f"Telegram: message {answer.get('message_id')} in chat {target.chat_id}: {wrong}")


async def _plain_if_refused(page: Rendered, show: Callable[[Rendered], Awaitable[_Answer]]) -> tuple[_Answer, Rendered]:
    """Show the page, or without its formatting where Telegram refuses that. A refusal has changed nothing."""
    try:
        return await show(page), page
    except BadMarkup:
        if not page.entities:
            raise
    plain = Rendered(page.text)
    return await show(plain), plain
