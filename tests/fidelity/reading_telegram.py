"""What a person sees of a message on Telegram (Bot API, MessageEntity): text with entities, and addresses that Telegram
finds itself: up to white space, without punctuation at the end, with balanced brackets.
"""

import re
from html.parser import HTMLParser

from adapters.telegram.codec.markup import RenderedText
from tests.fakes.telegram.rich import check_rich
from tests.fidelity.seen import PERSON, Seen, seen

_LOOKS = {"bold": "b", "italic": "i", "strikethrough": "s", "code": "c", "pre": "c"}
_ADDRESS = re.compile(r"https?://\S+")
_USER_NAME = re.compile(r"(?<![\w@])@\w{3,32}")


def read(message: RenderedText) -> list[Seen]:
    units = message.text.encode("utf-16-le")
    looks: dict[int, str] = {}
    links: dict[int, str] = {}
    for entity in message.entities:
        for at in range(entity.offset, entity.offset + entity.length):
            looks[at] = looks.get(at, "") + _LOOKS.get(entity.kind, "")
            if entity.url is not None or entity.kind == "text_mention":
                links[at] = entity.url or PERSON
    shown: list[Seen] = []
    plain = "".join(
        chr(0xE000)
        if at in links or "c" in looks.get(at, "")
        else units[2 * at : 2 * at + 2].decode("utf-16-le", "replace")
        for at in range(len(units) // 2)
    )
    for found in _ADDRESS.finditer(plain):
        address = re.sub(r"[\ue000].*", "", found[0])
        while address and (
            address[-1] in ".,:;!?'\"" or (address[-1] == ")" and address.count(")") > address.count("("))
        ):
            address = address[:-1]
        links |= dict.fromkeys(range(found.start(), found.start() + len(address)), address)
    assert not [name for name in _USER_NAME.finditer(plain) if name.start() not in links]
    at = 0
    for char in message.text:
        bullet = char == "•" and (
            at == 0 or units[2 * at - 2 : 2 * at] in ("\n".encode("utf-16-le"), " ".encode("utf-16-le"))
        )
        shown += [] if bullet else seen(char, looks.get(at, ""), links.get(at))
        at += len(char.encode("utf-16-le")) // 2
    return shown


def read_rich(source: str) -> list[Seen]:
    """What a person sees of a rich message (Bot API, Rich HTML style)."""
    check_rich(source, draft=False)
    reader = _Rich()
    reader.feed(source)
    reader.close()
    return reader.shown


_TAGS = {"b": "b", "i": "i", "s": "s", "code": "c", "pre": "c", **{f"h{level}": "b" for level in range(1, 7)}}

_EMPTY = ("br", "hr", "input")


class _Rich(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.shown: list[Seen] = []
        self._open: list[tuple[str, str, str | None]] = [("", "", None)]
        self._numbers: list[int] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag == "input":
            self.shown += seen("☑" if "checked" in dict(attrs) else "☐")
        if tag in _EMPTY:
            return
        given, (_, looks, target) = dict(attrs), self._open[-1]
        if tag in ("ul", "ol"):
            self._numbers.append(int(given.get("start") or 1) if tag == "ol" else -1)
        if tag == "li" and self._numbers[-1] >= 0:
            self.shown += seen(f"{self._numbers[-1]}.")
            self._numbers[-1] += 1
        if tag == "a":
            target = PERSON if given["href"] == "tg://user?id=42" else given["href"]
        self._open.append((tag, looks + _TAGS.get(tag, ""), target))

    def handle_endtag(self, tag: str) -> None:
        if tag in _EMPTY:
            return
        self._open.pop()
        if tag in ("ul", "ol"):
            self._numbers.pop()

    def handle_data(self, data: str) -> None:
        self.shown += seen(data, *self._open[-1][1:])
