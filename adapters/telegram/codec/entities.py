"""A person's text without the parts that only name its addressee."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final, Protocol

from adapters.telegram.codec.addresses import Json, OurBots, TelegramBot
from adapters.telegram.codec.markup import Entity

_LINE_END: Final = "\n".encode("utf-16-le")


class Names(Protocol):
    """People's names by their lower-case user names."""

    def get(self, username: str, /) -> str | None: ...


@dataclass(frozen=True, slots=True)
class SaidText:
    """A text. `to` are the bots it is meant for; mentioned people are in it as `@Name`."""

    text: str
    command: str | None = None
    to: tuple[TelegramBot, ...] = ()
    for_another_bot: bool = False


@dataclass(frozen=True, slots=True)
class _Change:
    """A piece of the text to be replaced."""

    entity: Entity
    becomes: str = ""
    to: TelegramBot | None = field(default=None)


def said(text: str, entities: Sequence[Json], us: OurBots, people: Names) -> SaidText:
    """Read a text with its entities."""
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
    """The change for a mention of one of our bots, or of a person."""
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
