"""The findings of `parley check` about a bot: whether its token is valid, and problems of its set-up."""

from __future__ import annotations

from collections.abc import Sequence

from adapters.telegram.api.bot import TelegramApi
from adapters.telegram.codec.addresses import TelegramBot
from adapters.telegram.inbound.intake import Webhook
from runtime.core.errors import AdapterError, NotDelivered, OutcomeUncertain, RateLimited


async def found(api: TelegramApi, *, agent: str | None, webhook: Webhook | None, chats: Sequence[str]) -> str:
    """One line. Raises AuthFailed for a bad token, NotDelivered if Telegram cannot be asked."""
    try:
        bot = await api.me(agent)
    except (OutcomeUncertain, RateLimited) as error:
        raise NotDelivered(f"{error}. So Parley cannot tell whether the token is valid") from error
    whose = f" for {agent}" if agent is not None else ""
    notes = [*_privacy(bot), *await _webhook(api, webhook), *await _memberships(api, bot, chats)]
    return ". ".join([f"Telegram knows this bot{whose} as @{bot.username} ({bot.name})", *notes])


def _privacy(bot: TelegramBot) -> list[str]:
    if bot.hears_all:
        return []
    return [
        "Privacy mode is on: in groups it hears only commands, mentions and replies, unless it is an administrator "
        "there. To let it hear topics without a mention, send /setprivacy to @BotFather, choose Disable, and take the "
        "bot out of its groups and add it again"
    ]


async def _webhook(api: TelegramApi, wanted: Webhook | None) -> list[str]:
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


async def _memberships(api: TelegramApi, bot: TelegramBot, chats: Sequence[str]) -> list[str]:
    """The missing permissions in the groups that the settings name."""
    notes = []
    for chat in chats:
        if not chat.lstrip("-").isdigit() or not chat.startswith("-"):
            continue
        try:
            status = await api.membership(int(chat), bot.id)
        except AdapterError:
            status = "left"
        if status in ("left", "kicked"):
            notes.append(f"It is not in chat {chat}: add it there")
        elif status == "restricted":
            notes.append(f"It is restricted in chat {chat}: allow it to write, send files and react there")
        elif status == "member":
            notes.append(f"In chat {chat} it sees reactions only as an administrator")
    return notes
