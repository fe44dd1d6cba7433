"""Our addresses, names and nonces in Discord's form, and back; CommonMark as Discord shows it. Pure.

Discord's own marks: `__` underlines, `||` hides, `>>>` quotes all that follows, headings end at three signs (Discord's
help centre, Markdown Text 101). What would be one without being meant gets a backslash, and what would ping somebody is
broken up. Pings are also switched off by `allowed_mentions`: the text is the second lock.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import ClassVar
from urllib.parse import quote

from markdown_it.token import Token
from msgspec import Struct

from adapters.capabilities import measure_utf16
from adapters.discord.codec.payload import DiscordWords, Name
from adapters.discord.limits import MAX_HOOK_NAME, MAX_MESSAGE_UNITS, MAX_NONCE
from adapters.markdown.reading import parsed
from adapters.markdown.writer import MarkdownWriter, MarkKind
from runtime.core.address import Address, Speaker

PLATFORM = "discord"
MAX_NAME = 64
THREAD_TYPES = frozenset({10, 11, 12})
"""Channel types that are threads: of announcements, public, private. A post of a forum is a public thread."""
_DM = "dm:"
_EPOCH_MS = 1420070400000
_SNOWFLAKE = re.compile(r"\d{1,20}", re.ASCII)
_REFUSED_IN_NAMES = (("discord", "disc-ord"), ("clyde", "cl-yde"))


class DiscordBot(Struct, frozen=True):
    """A bot, whose id is often its application's. `commands` are commands also where people talk with each other."""

    id: str
    application_id: str
    name: str
    commands: frozenset[str] = frozenset()


def address_of(channel_id: str, *, private: bool, parent: str | None = None) -> Address:
    if private:
        return Address(PLATFORM, f"{_DM}{channel_id}")
    return Address(PLATFORM, channel_id) if parent is None else Address(PLATFORM, parent, channel_id)


def channel_id_of(address: Address) -> str:
    """The channel in which a message to this address is posted: a thread is a channel to Discord."""
    return address.thread or address.conversation.removeprefix(_DM)


def mark_of(channel_id: str, *, private: bool) -> str:
    """The name of the mark for the last message taken in a channel or thread."""
    return f"{_DM}{channel_id}" if private else channel_id


def private_channel_of(mark: str) -> str | None:
    """The channel of a private conversation's mark; None for other marks."""
    return mark.removeprefix(_DM) if mark.startswith(_DM) else None


def is_private(address: Address) -> bool:
    return address.conversation.startswith(_DM)


def number_of(message: str) -> str:
    """Discord's own id of a message; our id of a webhook's message is `<message>@<webhook>`."""
    return message.partition("@")[0]


def page_of(text: str, speaker: Speaker, *, named: bool) -> DiscordWords:
    """CommonMark as a message, under its speaker's name where `named`; as written where that is too long."""
    name = " ".join(speaker.name.split())[:MAX_NAME] if named and speaker.id else ""
    for body in (render(text), as_written(text)):
        page = with_heading(name, body) if name else body
        if measure_utf16(page) <= MAX_MESSAGE_UNITS:
            return DiscordWords(page, people_in(text))
    return DiscordWords(text)


def name_of(speaker: Speaker, avatar_url: str | None) -> Name:
    """The name and picture of a webhook's speaker. `{name}` in the picture's address is the speaker's name."""
    name = " ".join(speaker.name.split())
    picture = None if avatar_url is None else avatar_url.replace("{name}", quote(name, safe=""))
    for refused, instead in _REFUSED_IN_NAMES:
        name = re.sub(refused, instead, name, flags=re.IGNORECASE)
    return Name(name[:MAX_HOOK_NAME].strip() or "Agent", picture)


def answer_line(link: str) -> str:
    """A small line that names the message which a webhook's message answers; webhooks cannot reply."""
    return f"-# ↪ [in answer]({link})"


def link_to(server: str, channel_id: str, message: str | None = None) -> str:
    """The link to a channel of a server, or to a message in it; `@me` is the server of private conversations."""
    place = f"https://discord.com/channels/{server}/{channel_id}"
    return place if message is None else f"{place}/{message}"


def nonce_of(nonce: str) -> str:
    """A nonce within Discord's length; equal for equal nonces."""
    return hashlib.blake2b(nonce.encode(), digest_size=MAX_NONCE // 2).hexdigest()


def snowflake(value: object) -> str:
    """An id as Discord writes it. Raises ValueError for what is none."""
    if not is_snowflake(value):
        raise ValueError(f"{str(value)[:40]!r} is not an id of Discord's")
    return str(value)


def is_snowflake(value: object) -> bool:
    return _SNOWFLAKE.fullmatch(str(value)) is not None


def snowflake_at(when: datetime) -> int:
    """The smallest id of what is made at that time: Discord's ids begin with their milliseconds."""
    return max(0, int(when.timestamp() * 1000) - _EPOCH_MS) << 22


def moment_of(snowflake: str) -> datetime:
    return datetime.fromtimestamp(((int(snowflake) >> 22) + _EPOCH_MS) / 1000, UTC)


_BREAK = "\u200b"
"""Stands between @ and a name, where nobody sees it."""
_PERSON = re.compile(r"\[@((?:\\.|[^\[\]\\\n])*)\]\(<?person:discord:(\d+)>?\)")
_MENTION = re.compile(r"person:discord:(\d+)")
_PINGS = (
    (re.compile(r"@(everyone|here)\b", re.IGNORECASE), rf"@{_BREAK}\1"),
    (re.compile(r"<(@[!&]?)(\d+)>"), rf"<\1{_BREAK}\2>"),
)
_SIGNS: dict[MarkKind, str] = {"strong": "**", "em": "*", "s": "~~"}
_LITERAL = re.compile(
    r"\\(?=[!-/:-@\[-`{-~])|`|\*(?!\s)|(?<!\s)\*|(?<!\w)_|_(?!\w)|_(?=_)|(?<=_)_|~(?=~)|(?<=~)~|\|(?=\|)|(?<=\|)\|"
    r"|\](?=\()|<(?=#\d|a?:\w+:\d|t:|/\w|id:)|<(?=https?:)"
)
_FENCE = re.compile(r"(?<=``)`")
_RUN = re.compile(r"`+")
_LITERAL_IN_LABEL = re.compile(rf"{_LITERAL.pattern}|[\[\]]")
_LITERAL_START = re.compile(r"\A(?:#{1,3}(?=\s)|-#|>|[-*+](?=\s)|\d{1,9}(?=[.)]\s))")
_NO_END = frozenset("].,:;\"'")
"""Characters with which Discord lets no address end."""
_AFTER_ADDRESS = ".,:;\"'<"
_LANGUAGE = re.compile(r"[\w+.#-]+", re.ASCII)


def render(markdown: str) -> str:
    """The text in Discord's form, or as written. Only a link to a person, outside code, can ping."""
    source = re.sub(r"\r\n?", "\n", markdown.encode("utf-8", "replace").decode("utf-8").replace("\0", "\ufffd"))
    try:
        return _Writer.written(parsed(source)) or as_written(source)
    except Exception:  # noqa: BLE001 - formatting must never cost a message: whatever goes wrong, show the source
        return as_written(source)


def as_written(markdown: str) -> str:
    """The text unchanged, except that people are mentioned and other pings are broken up."""
    return _PERSON.sub(r"<@\2>", quiet(markdown))


def people_in(markdown: str) -> frozenset[str]:
    return frozenset(number for _, number in _PERSON.findall(markdown))


def quiet(text: str) -> str:
    """The text without anything that would ping."""
    for pattern, replacement in _PINGS:
        text = pattern.sub(replacement, text)
    return text


def with_heading(name: str, body: str) -> str:
    escaped = re.sub(r"([\\*_~`|])", r"\\\1", quiet(name))
    return f"**{escaped}**\n{body}"


class _Writer(MarkdownWriter):
    INDENT = "  "
    BULLET: ClassVar[str] = "-"

    def __init__(self, *, quoted: bool = False) -> None:
        super().__init__(quoted=quoted)
        self._marks: list[str] = []
        self._ends: list[str | None] = []
        self._at_start = True
        self._address = ""

    def _quote(self, tokens: Sequence[Token]) -> None:
        """Write a quotation separately and mark each of its lines, empty ones too; Discord has none in another."""
        lines = _Writer.written(tokens, quoted=True).split("\n")
        self._write("\n".join(line if self._quotes > 1 else f"> {line}" for line in lines))

    def _code_block(self, code: str, info: str) -> None:
        """Write lines of code: Discord ends them at three signs, and takes none right behind a list's bullet."""
        language = _LANGUAGE.match(info)
        if self._parts and self._parts[-1].endswith(f"{self.BULLET} "):
            self._write(f"{_BREAK}\n")
        shown = _FENCE.sub(f"{_BREAK}`", code) if code.strip() else _BREAK
        self._write(f"```{language[0] if language else ''}\n{shown}\n```")

    def _code(self, code: str) -> None:
        """Write code in signs of a number that does not stand in it. Three of them would be lines of code."""
        runs = set(map(len, _RUN.findall(code)))
        fence = "`" if 1 not in runs else "``"
        if fence == "``" and 2 in runs:
            code = re.sub(r"(?<!`)``(?!`)", f"`{_BREAK}`", code)
        space = " " if code.startswith("`") or code.endswith("`") else ""
        self._write(f"{fence}{space}{code}{space}{fence}")

    def _line_break(self) -> None:
        self._write("\n" + self.INDENT * len(self._lists))
        self._at_start = True

    def _plain(self, text: str) -> None:
        if text and None not in self._ends:
            self._write(quiet(self._escaped(text)))

    def _escaped(self, text: str) -> str:
        lines = text.split("\n")
        for number, line in enumerate(lines):
            shown = (_LITERAL_IN_LABEL if self._in_label else _LITERAL).sub(r"\\\g<0>", line)
            if number or self._at_start or self._breaks:
                shown = _LITERAL_START.sub(_backslashed, shown)
            lines[number] = shown
        return "\n".join(lines)

    def _begin(self, kind: MarkKind) -> None:
        sign = _SIGNS.get(kind, "")
        sign = "" if sign in self._marks else sign
        self._marks.append(sign)
        if sign == "**" and self._parts[-1:] == ["*"]:  # three signs begin strong text
            self._append(_BREAK)
        if sign:
            self._write(sign)

    def _end(self) -> None:
        self._append(self._marks.pop())

    def _heading(self, level: int) -> None:
        """Start a heading. Of the fourth level and below it is bold."""
        if level <= 3:
            self._write("#" * level + " ")
        self._begin("heading" if level <= 3 else "strong")

    def _begin_link(self, url: str, *, bare: bool) -> None:
        """Start a link. Discord has none inside another, so of a picture that is one its words are the label."""
        person = _MENTION.fullmatch(url)
        inside = self._in_label
        is_link = url.startswith(("http://", "https://")) and not inside
        if person is not None:
            self._write(f"<@{person[1]}>")
        elif bare and is_link:
            framed = url[-1] in _NO_END
            self._write(f"<{url}>" if framed else url)
            self._address = "" if framed else url
        elif is_link:
            self._write("[")
        label_follows = person is None and not (bare and is_link)
        target = f"<{url}>" if re.search(r"[()\s]", url) else url
        told = bare or inside or not url or url.startswith("person:")
        end = f"]({target})" if is_link else "" if told else f" ({url})"
        self._ends.append(end if label_follows else None)

    def _end_link(self) -> None:
        self._append(self._ends.pop() or "")

    @property
    def _in_label(self) -> bool:
        return any(end is not None and end.startswith("](") for end in self._ends)

    def _append(self, text: str) -> None:
        """Add text. An address is put in angle brackets where Discord would take the text for its end."""
        if not text:
            return
        if self._address:
            if not (text.lstrip(_AFTER_ADDRESS) or " ")[0].isspace():
                self._parts[-1] = f"<{self._address}>"
            self._address = ""
        super()._append(text)
        self._at_start = text.endswith("\n") or (self._at_start and not text.strip("*~"))


def _backslashed(found: re.Match[str]) -> str:
    return f"{found[0]}\\" if found[0].isdecimal() else f"\\{found[0]}"
