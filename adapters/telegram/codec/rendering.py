"""A text of ours as a message: with entities, which every server knows, or as a rich message."""

from __future__ import annotations

import html
import re
import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, Literal

from adapters.markdown.bounds import TooMuchMarkdown
from adapters.markdown.text_length import measure_utf16
from adapters.markdown.writer import parsed
from adapters.telegram.codec.addresses import topic_of
from adapters.telegram.codec.markup import Rendered, bare, render, with_heading
from adapters.telegram.limits import MAX_CAPTION_UNITS, MAX_MESSAGE_UNITS
from runtime.core.address import Speaker

Rich = Literal["auto", "always", "never"]

MAX_NAME: Final = 64
"""Characters of a speaker's name that are shown."""

_TASK: Final = re.compile(r"^[ \t]*[-*+] \[[ xX]\] ", re.MULTILINE)
_PERSON_LINK: Final = re.compile(r"\]\(<?person:telegram:(\d+)>?\)")
_OTHER_PERSON_LINK: Final = re.compile(r"\[([^\[\]]*)\]\(<?person:[^()<>]*>?\)")
_RESERVED: Final = re.compile(r"([\\`*_\[\]<>#|~])")


@dataclass(frozen=True, slots=True)
class RenderedPage:
    """CommonMark under its speaker's name; `name` is empty where none is shown."""

    markdown: str
    name: str = ""

    @classmethod
    def of(cls, text: str, speaker: Speaker, *, named: bool) -> RenderedPage:
        """The gateway itself (id "") has no heading."""
        name = bare(" ".join(speaker.name.split())[:MAX_NAME]).text
        return cls(text, name if named and speaker.id else "")

    def rendered(self) -> Rendered:
        """The text with entities. Where columns or marks make it too long for Telegram, as it is written."""
        room = MAX_MESSAGE_UNITS - (measure_utf16(self.name) + 1 if self.name else 0)
        body = render(self.markdown)
        if measure_utf16(body.text) > room:
            body = bare(self.markdown)
        if measure_utf16(body.text) > room:
            body = Rendered(self.markdown.replace("@", "\uff20"))
        return with_heading(self.name, body) if self.name else body

    def rich(self) -> str:
        """As Markdown of a rich message."""
        text = _OTHER_PERSON_LINK.sub(r"\1", _PERSON_LINK.sub(r"](tg://user?id=\1)", self.markdown))
        name = _RESERVED.sub(r"\\\1", self.name)
        return f"**{name}**\n\n{text}" if name else text

    def may_be_rich(self) -> bool:
        """Whether nothing in it could be a link of Telegram's own, which may mention anybody."""
        return "tg:" not in html.unescape(self.markdown).replace("\\", "").casefold()

    def gains(self) -> bool:
        """Whether a rich message shows it better: tables and task lists, which have no entities."""
        try:
            tables = "|" in self.markdown and any(token.type == "table_open" for token in parsed(self.markdown))
        except TooMuchMarkdown:
            return False
        return tables or bool(_TASK.search(self.markdown))

    def fits_caption(self) -> bool:
        """Whether it fits as the caption of a file."""
        return not self.markdown.strip() or measure_utf16(self.rendered().text) <= MAX_CAPTION_UNITS


def shows_it(answer: Mapping[str, Any], page: Rendered | None, thread_id: int | None) -> str | None:
    """The difference between a page and the message that Telegram shows; None when there is none.

    `page` None is a rich message, whose text is not compared. Telegram removes white space at the ends and invisible
    characters, so only visible text counts.
    """
    if topic_of(answer) != thread_id:
        return f"it is in topic {topic_of(answer)}, not in {thread_id}"
    if page is not None and _visible(answer.get("text", "")) != _visible(page.text):
        return f"it shows {len(answer.get('text', ''))} characters of {len(page.text)}, or others"
    return None


def _visible(text: str) -> str:
    return "".join(character for character in text if unicodedata.category(character)[0] in "LNPS")
