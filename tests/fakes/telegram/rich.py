"""Rich messages as the Bot API server reads their HTML: strictly, and within its limits (Rich Message Limits).

Of the tags it knows those that we use.
"""

from html.parser import HTMLParser

from tests.fakes.telegram.refusal import Refusal

MAX_CHARS = 32_768
MAX_BLOCKS = 500
MAX_DEPTH = 16
MAX_COLUMNS = 20

_INLINE = frozenset(["b", "i", "s", "code", "a", "tg-math", "tg-thinking"])
_BLOCKS = frozenset(
    [*("p", "pre", "ul", "ol", "li", "table", "tr", "th", "td", "blockquote"), *(f"h{level}" for level in range(1, 7))]
)
_VOID = frozenset({"br", "hr", "input"})
_COUNTED = _BLOCKS - {"th", "td"} | {"hr"}
_PARENTS = {"li": ("ul", "ol"), "tr": ("table",), "th": ("tr",), "td": ("tr",)}


def check_rich(source: str, *, draft: bool) -> None:
    """Refuse what is not well formed or too much. Only a draft may have a thinking block."""
    reader = _Reader(draft=draft)
    reader.feed(source)
    reader.close()
    if reader.open:
        raise _wrong(f"tag {reader.open[-1]} is not closed")
    if reader.chars > MAX_CHARS or reader.blocks > MAX_BLOCKS:
        raise Refusal(400, "Bad Request: rich message is too long")


class _Reader(HTMLParser):
    def __init__(self, *, draft: bool) -> None:
        super().__init__()
        self.open: list[str] = []
        self.chars = 0
        self.blocks = 0
        self._columns = 0
        self._draft = draft

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag not in _INLINE | _BLOCKS | _VOID or (tag == "tg-thinking" and not self._draft):
            raise _wrong(f"unsupported tag {tag}")
        if tag in _PARENTS and (not self.open or self.open[-1] not in _PARENTS[tag]):
            raise _wrong(f"tag {tag} is misplaced")
        if tag in _BLOCKS and any(one in (*_INLINE, "p", "td", "th") and one != "tg-thinking" for one in self.open):
            raise _wrong(f"block {tag} is inside of a line")
        if tag == "a" and not dict(attrs).get("href"):
            raise _wrong("a link without a target")
        self.blocks += tag in _COUNTED
        self._columns = 0 if tag == "tr" else self._columns + (tag in ("th", "td"))
        if self._columns > MAX_COLUMNS:
            raise Refusal(400, "Bad Request: RICH_MESSAGE_TABLE_COLUMNS_TOO_MUCH")
        if tag not in _VOID:
            self.open.append(tag)
        if len(self.open) > MAX_DEPTH:
            raise Refusal(400, "Bad Request: RICH_MESSAGE_DEPTH_TOO_MUCH")

    def handle_endtag(self, tag: str) -> None:
        if tag in _VOID:
            return
        if not self.open or self.open.pop() != tag:
            raise _wrong(f"unexpected end of {tag}")

    def handle_data(self, data: str) -> None:
        self.chars += len(data)


def _wrong(what: str) -> Refusal:
    return Refusal(400, f"Bad Request: can't parse rich message: {what}")
