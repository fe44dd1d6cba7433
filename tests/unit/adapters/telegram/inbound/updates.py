"""Updates of Telegram's for tests of how they are read."""

from datetime import UTC, datetime
from typing import Any

from adapters.adapter import Inbound
from adapters.telegram.codec.addresses import KnownChat, OurBots, TelegramBot
from adapters.telegram.inbound.decode import Decoded, TelegramReceiver, decode

BOT = TelegramBot(7, "ParleyBot", "Parley")
ADA = {"id": 42, "is_bot": False, "first_name": "Ada", "last_name": "Lovelace"}
BOB = {"id": 43, "is_bot": False, "first_name": "Bob"}
PRIVATE = {"id": 42, "type": "private", "first_name": "Ada"}
GROUP = {"id": -100500, "type": "supergroup", "title": "Us"}
NOW = datetime(2023, 11, 15, tzinfo=UTC)
NOBODY = KnownChat(NOW, {})


def update(**message: Any) -> dict[str, Any]:
    return {"update_id": 900, "message": {"message_id": 1, "date": 1_700_000_000, "from": ADA, "chat": GROUP} | message}


def decoded(*updates: dict[str, Any], receiver: TelegramReceiver | None = None, known: KnownChat = NOBODY) -> Decoded:
    return decode(updates, receiver or TelegramReceiver(BOT, OurBots((BOT,))), known)


def read(known: KnownChat = NOBODY, /, **message: Any) -> Inbound:
    found = decoded(update(**message), known=known)
    assert isinstance(found, Inbound)
    return found


def entity(kind: str, offset: int, length: int, **more: Any) -> dict[str, Any]:
    return {"type": kind, "offset": offset, "length": length, **more}
