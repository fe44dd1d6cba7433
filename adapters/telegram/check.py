"""The findings of `parley check` about a bot: whether its token is valid, and problems of its set-up."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from adapters.telegram.api.bot import TelegramApi
from adapters.telegram.bots import OurBot
from adapters.telegram.codec.addresses import TelegramBot
from adapters.telegram.inbound.intake import TelegramWebhook
from runtime.core.errors import AdapterError, NotDelivered, OutcomeUncertain, RateLimited

_MEMBERSHIPS: Final[Mapping[str, str]] = {
    **dict.fromkeys(("left", "kicked"), "It is not in chat {chat}: add it there"),
    "restricted": "It is restricted in chat {chat}: allow it to write, send files and react there",
    "member": "In chat {chat} it sees reactions only as an administrator",
}


async def found(ours: OurBot, webhook: TelegramWebhook | None, chats: Sequence[str], keep_hours: float) -> str:
    """One line. Raises AuthFailed for a bad token, NotDelivered if Telegram cannot be asked."""
    api, agent = ours.api, ours.agent
    try:
        bot = await api.me(agent)
    except (OutcomeUncertain, RateLimited) as error:
        raise NotDelivered(f"{error}. So Parley cannot tell whether the token is valid") from error
    whose = f" for {agent}" if agent is not None else ""
    groups = [chat for chat in chats if chat.lstrip("-").isdigit() and chat.startswith("-")]
    statuses = {chat: await _status(api, bot, int(chat)) for chat in groups}
    notes = [
        *_privacy(bot),
        *await _webhook(api, webhook),
        *(_MEMBERSHIPS[status].format(chat=chat) for chat, status in statuses.items() if status in _MEMBERSHIPS),
        *_keeping(bot, statuses, keep_hours),
    ]
    return ". ".join([f"Telegram knows this bot{whose} as @{bot.username} ({bot.name})", *notes])


def _privacy(bot: TelegramBot) -> list[str]:
    if bot.hears_all:
        return []
    return [
        "Privacy mode is on: in groups it hears only commands, mentions and replies, unless it is an administrator "
        "there. To let it hear topics without a mention, send /setprivacy to @BotFather, choose Disable, and take the "
        "bot out of its groups and add it again"
    ]


async def _webhook(api: TelegramApi, wanted: TelegramWebhook | None) -> list[str]:
    try:
        url, error = await api.webhook()
    except AdapterError:
        return ["Parley cannot tell whether a webhook is set"]
    if wanted is None and url:
        return [f"Its updates are sent to {url} now; as telegram.webhook_url is not set, `parley run` will end that"]
    if wanted is not None and url not in ("", wanted.url):
        return [f"Its updates are sent to {url} now; `parley run` will have them sent to {wanted.url}"]
    if wanted is not None and error:
        return [f"The last request to {url} failed: {error}"]
    return []


async def _status(api: TelegramApi, bot: TelegramBot, chat: int) -> str:
    try:
        return await api.membership(chat, bot.id)
    except AdapterError:
        return "left"


def _keeping(bot: TelegramBot, statuses: Mapping[str, str], keep_hours: float) -> list[str]:
    """Where what people say in groups is kept for programs, and why nowhere else; nothing where nothing could be."""
    heard = [chat for chat, status in statuses.items() if status in ("administrator", "creator")]
    if keep_hours == 0:
        return (
            ["It keeps nothing of what it hears in groups: context.keep_hours is 0"] if bot.hears_all or heard else []
        )
    kept = f"for {keep_hours:g} hours (context.keep_hours)"
    if bot.hears_all:
        return [f"It keeps what people with access say in all its groups {kept}: privacy mode is off"]
    where = f"in chat {', '.join(heard)}, where it is an administrator" if heard else "where it is an administrator"
    return [f"It keeps what people with access say {where}, {kept}; in other groups it hears only what is for it"]
