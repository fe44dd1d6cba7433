"""Texts of people, files, agents, tools and models, made harmless where they enter a prompt: no line poses as ours.

What people see stays, to the eye. A line that could be taken for ours begins with `| `. Line separators of all kinds
become line ends, since a model reads each as one. What nobody sees, but a model reads, goes: tags, selectors without a
sign, marks that turn the direction. What joins letters and emoji stays between them, for words and pictures fall apart
without it; the comparison looks through it.
"""

from __future__ import annotations

import json
import re
import unicodedata
from typing import Final

from runtime.core.plain_text import whole_characters
from runtime.core.prompt_forms import MARKS, is_ours

_SEPARATORS: Final = re.compile("\r\n|[\r\x0b\x0c\x1c-\x1e\x85\u2028\u2029]")

_KEPT: Final = (
    "(?<=[^\\W\\d_a-zA-Z])[\u200c\u200d](?=[^\\W\\d_a-zA-Z])"  # between letters: Persian
    "|(?<=[\u0900-\u0dff\u1000-\u109f\u1780-\u17ff])[\u200c\u200d]"  # behind an Indic sign
    "|(?<=[\u2190-\u2bff\ufe0f\U0001f000-\U0001faff])\u200d(?=[\u2190-\u2bff\U0001f000-\U0001faff])"  # emoji
    "|(?<=[#*0-9\u00a9\u00ae\u203c-\u3299\U0001f000-\U0001faff])[\ufe0e\ufe0f]"
    "|(?<=[\u1000-\u109f\u2200-\u2aff\u3000-\u9fff\uaa60-\uaa7f\uf900-\uffef])[\ufe00-\ufe02]"
    "|(?<=[\u3400-\u9fff\uf900-\ufaff\U00020000-\U0003ffff])[\U000e0100-\U000e011f]"  # names in Japanese
    "|(?<=\U0001f3f4)[\U000e0030-\U000e0039\U000e0061-\U000e007a]{2,6}\U000e007f"  # flags of regions
)
"""What belongs to the sign before it, though nobody sees it alone."""

_UNSEEN: Final = re.compile(
    f"({_KEPT})|"
    "[\\0-\\x08\\x0e-\\x1f\\x7f-\\x84\\x86-\\x9f\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180e\u200b-\u200f"
    "\u202a-\u202e\u2060-\u206f\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufffb\U0001bca0-\U0001bca3\U0001d173-\U0001d17a"
    "\U000e0000-\U000e0fff]"
)

_LOOKALIKES: Final = str.maketrans(
    (
        "\u0430\u0410\u03b1\u0391\u0432\u0412\u0392\u0441\u0421\u03f2\u0501\u0435\u0415\u03b5\u0395\u0261"
        "\u043d\u041d\u04bb\u0397\u0456\u0406\u0131\u03b9\u0399\u0458\u0408\u03f3\u043a\u041a\u03ba\u039a"
        "\u04cf\u04c0\u043c\u041c\u039c\u039d\u043e\u041e\u03bf\u039f\u0440\u0420\u03c1\u03a1\u051b\u0455"
        "\u0405\u0442\u0422\u03c4\u03a4\u03c5\u03bd\u051d\u0445\u0425\u03c7\u03a7\u0443\u0423\u03a5\u03b3"
        "\u2236\ua789\u02d0\u02f8\u0589\u05c3\u16ec\u3010\u3014\u3016\u27e6\u2772\u3011\u3015\u3017\u27e7"
        "\u2773\u2985\u2768\u2986\u2769\u203a\u27e9\u276f\u3009\u2039\u27e8\u276e\u3008\u2800"
    ),
    ("aaaabbbcccdeeeeghhhhiiiiijjjkkkkllmmmnooooppppqssttttuvwxxxxyyyy:::::::[[[[[]]]]](())>>>><<<< "),
)
"""Letters of Cyrillic and Greek, colons, brackets and blanks that look like those of our forms."""

_MORE_THAN_A_NAME: Final = re.compile(r"[:;\"“”|]|\((?:user|agent|shown as|host)\b|^[(\[<>]|^you$")

_INSIDE: Final = re.compile("(?<=; )\\$(?=\\w+ ?= ?)|”(?=[^“”]{1,60}: ?“)")
"""Inside a line of ours: what looks like the next value, or the next speaker."""

_LOOKED_THROUGH: Final = frozenset({"Mn", "Me", "Cf", "Cc", "Co", "Cn", "Cs"})


def foreign(text: str) -> str:
    """A text of others as a prompt may have it on lines of its own."""
    text = foreign_lines(text)
    return "\n".join("| " + line if is_ours(_compared(line)) else line for line in text.split("\n"))


def foreign_lines(text: str) -> str:
    """A text of others where its lines cannot be taken for ours, such as an answer of the model itself."""
    if not text.isascii():
        text = whole_characters(text)
    text = _UNSEEN.sub(lambda found: found[1] or "", _SEPARATORS.sub("\n", text))
    return MARKS.sub(" ", text)


def foreign_line(text: str) -> str:
    """A text of others inside a line of ours: on one line."""
    return _INSIDE.sub(r"|\g<0>", " ".join(foreign_lines(text).split()))


def foreign_json(text: str) -> str:
    """A JSON text in one line inside a line of ours, which JSON reads as the same but for what nobody sees."""
    return foreign_lines(_SEPARATORS.sub(lambda found: f"\\u{ord(found[0]):04x}", text))


def foreign_name(name: str) -> str:
    """A name that others chose, inside a line of ours: in quotation marks where it may mean more than that."""
    name = " ".join(foreign_lines(name).split())
    return json.dumps(name, ensure_ascii=False) if _MORE_THAN_A_NAME.search(_compared(name)) else name


def _compared(line: str) -> str:
    """A line as it is compared with our forms: without case, accents, lookalikes, and what is not seen."""
    if line.isascii():
        return line.lower()
    folded = unicodedata.normalize("NFKD", line).translate(_LOOKALIKES).casefold()
    return "".join(char for char in folded if unicodedata.category(char) not in _LOOKED_THROUGH)
