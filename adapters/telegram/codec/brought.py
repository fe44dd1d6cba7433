"""What a message of Telegram's says, and what it brings: what it answers, and where it was passed on from."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, Final

from msgspec import Struct, field

from adapters.telegram.codec.addresses import PLATFORM, Json, Names, OurBots, TelegramBot, name_of
from adapters.telegram.codec.attachments import attachments_of
from adapters.telegram.codec.markup import Entity
from adapters.telegram.codec.wordless import rich_text_of, wordless_of
from runtime.core.quote import Quote

_NOTHING: Final[Json] = {}

_LINE_END: Final = "\n".encode("utf-16-le")


class SaidText(Struct, frozen=True):
    """A text. `to` are the bots it is meant for; mentioned people are in it as `@Name`."""

    text: str
    command: str | None = None
    to: tuple[TelegramBot, ...] = ()
    for_another_bot: bool = False


class _Change(Struct, frozen=True):
    entity: Entity
    becomes: str = ""
    to: TelegramBot | None = field(default=None)


def said(text: str, entities: Sequence[Json], us: OurBots, people: Names) -> SaidText:
    units = text.encode("utf-16-le", "surrogatepass")
    known = _known(entities)
    changes = [found for entity, raw in known if (found := _mention(entity, raw, units, us, people)) is not None]
    changes += _formats(known, units)
    command = next((entity for entity, _ in known if entity.kind == "bot_command" and entity.offset == 0), None)
    name, target = "", ""
    if command is not None:
        name, _, target = _piece(units, command)[1:].partition("@")
        bot = us.by_username.get(target.casefold())
        if target and bot is None:
            return SaidText(text, for_another_bot=True)
        changes.append(_Change(command, to=bot or us.all[0]))
    return SaidText(
        text=_changed(units, changes) if changes else text,
        command=name.casefold() or None,
        to=tuple(dict.fromkeys(change.to for change in changes if change.to is not None)),
    )


def formatted(text: str, entities: Sequence[Json]) -> str:
    """A text with its links and its code as Markdown writes them; nobody in it is addressed."""
    units = text.encode("utf-16-le", "surrogatepass")
    changes = _formats(_known(entities), units)
    return _changed(units, changes) if changes else text


def _known(entities: Sequence[Json]) -> list[tuple[Entity, Json]]:
    return [(Entity(raw["type"], raw["offset"], raw["length"]), raw) for raw in entities]


def _formats(entities: Sequence[tuple[Entity, Json]], units: bytes) -> list[_Change]:
    """The changes for links with a text of their own, and for code."""
    changes = []
    for entity, raw in entities:
        piece = _piece(units, entity)
        if not piece.strip():
            continue
        if entity.kind == "text_link" and piece != raw["url"]:
            label = re.sub(r"([\[\]\\])", r"\\\1", piece)
            changes.append(
                _Change(entity, f"[{label}](<{raw['url']}>)" if ")" in raw["url"] else f"[{label}]({raw['url']})")
            )
        elif entity.kind == "code":
            ticks = _longer_than(piece, "`")
            changes.append(_Change(entity, f"{ticks}{piece}{ticks}"))
        elif entity.kind == "pre":
            fence = _longer_than(piece, "```")
            before = "" if entity.offset == 0 or units[entity.offset * 2 - 2 : entity.offset * 2] == _LINE_END else "\n"
            behind = units[(entity.offset + entity.length) * 2 :][:2]
            code = piece.removesuffix("\n")
            after = "" if behind in (b"", _LINE_END) else "\n"
            changes.append(_Change(entity, f"{before}{fence}{raw.get('language', '')}\n{code}\n{fence}{after}"))
    return changes


def _longer_than(code: str, ticks: str) -> str:
    while ticks in code:
        ticks += "`"
    return ticks


def _mention(entity: Entity, raw: Json, units: bytes, us: OurBots, people: Names) -> _Change | None:
    piece = _piece(units, entity)
    if entity.kind == "text_mention":
        bot = us.by_id.get(raw["user"]["id"])
        return _Change(entity, to=bot) if bot is not None else _Change(entity, f"@{piece.removeprefix('@')}")
    if entity.kind != "mention":
        return None
    bot = us.by_username.get(piece[1:].casefold())
    if bot is not None:
        return _Change(entity, to=bot)
    name = people.get(piece[1:].casefold())
    return None if name is None else _Change(entity, f"@{name}")


def _piece(units: bytes, entity: Entity) -> str:
    return units[entity.offset * 2 : (entity.offset + entity.length) * 2].decode("utf-16-le", "replace")


def _changed(units: bytes, changes: Sequence[_Change]) -> str:
    """The text with its changes. A removed piece takes its white space and a comma or colon along."""
    text, position = "", 0
    after_cut = False
    for change in sorted(changes, key=lambda c: c.entity.offset):
        if change.entity.offset < position:
            continue  # inside of another one
        before = units[position * 2 : change.entity.offset * 2].decode("utf-16-le", "replace")
        text = _joined(text, before, after_cut=after_cut) + change.becomes
        after_cut = not change.becomes
        position = change.entity.offset + change.entity.length
    return _joined(text, units[position * 2 :].decode("utf-16-le", "replace"), after_cut=after_cut).strip()


def _joined(text: str, following: str, *, after_cut: bool) -> str:
    if not after_cut:
        return text + following
    rest = following if text.strip() else re.sub(r"^\s*[,:]", "", following)
    return text + (rest[1:] if text[-1:].isspace() and rest[:1].isspace() else rest)


def words_of(message: Json) -> str:
    text = message.get("text", message.get("caption", ""))
    own = formatted(text, message.get("entities", message.get("caption_entities", ())))
    return "\n".join(part for part in (own, rich_text_of(message), wordless_of(message)) if part)


def answered_by(message: Json) -> Json | None:
    """The message, or the story, that a message answers. In a topic everything answers the message that opened it."""
    if "reply_to_story" in message:
        return {"story": message["reply_to_story"]}
    replied = message.get("reply_to_message", message.get("external_reply"))
    return None if replied is None or "forum_topic_created" in replied else dict(replied)


def quoted_in(message: Json, known_as: str) -> Quote | None:
    """What a message answers: the piece that was chosen of it, else the whole. `known_as` is its id."""
    replied = answered_by(message)
    if replied is None:
        return None
    chosen = message.get("quote", _NOTHING)
    text = formatted(chosen["text"], chosen.get("entities", ())) if chosen else _pointed(words_of(replied), message)
    author, person = _author(replied)
    files = tuple(file.name for file in attachments_of(replied, None))
    inside = tuple(quote for quote in (forwarded_in(replied, ""), quoted_in(replied, "")) if quote)
    return Quote(known_as, author, text, files=files, inside=inside, person=person)


def _pointed(text: str, message: Json) -> str:
    """The text of what is answered, with the task of a checklist or the option of a poll that is pointed at."""
    replied = answered_by(message) or _NOTHING
    tasks = replied.get("checklist", _NOTHING).get("tasks", ())
    options = replied.get("poll", _NOTHING).get("options", ())
    task, option = message.get("reply_to_checklist_task_id"), message.get("reply_to_poll_option_id")
    pointed = [one["text"] for one in tasks if task is not None and one["id"] == task]
    pointed += [one["text"] for one in options if option is not None and one.get("persistent_id") == option]
    return "\n".join([text, *(f"[here: “{one}”]" for one in pointed)])


def forwarded_in(message: Json, text: str) -> Quote | None:
    origin = message.get("forward_origin")
    if origin is None:
        return None
    author, person = _origin(origin)
    return Quote(str(origin.get("message_id", "")), author, text, "forwarded", person=person)


def _author(message: Json) -> tuple[str, str]:
    """The name of who wrote a message, and their id where it is a person."""
    if "sender_chat" in message:
        return str(message["sender_chat"].get("title", "")), ""
    if "from" in message:
        return _named(message["from"])
    if "story" in message:
        return _named(message["story"].get("chat", _NOTHING))
    return _origin(message.get("origin", _NOTHING))


def _origin(origin: Mapping[str, Any]) -> tuple[str, str]:
    if "sender_user" in origin:
        return _named(origin["sender_user"])
    chat = origin.get("sender_chat", origin.get("chat", _NOTHING))
    names = (origin.get("sender_user_name"), chat.get("title"), origin.get("author_signature"))
    return ", ".join(filter(None, names)), ""


def _named(who: Mapping[str, Any]) -> tuple[str, str]:
    is_person = "id" in who and not who.get("is_bot") and "title" not in who
    return str(who.get("title") or name_of(who)), f"{PLATFORM}:{who['id']}" if is_person else ""
