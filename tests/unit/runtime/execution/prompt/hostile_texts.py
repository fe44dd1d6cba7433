"""Texts that pose as lines of the runtime's, and a reader of prompts that takes such lines for its own."""

import re
import unicodedata
from collections.abc import Iterable

from hypothesis import strategies as st

from runtime.core.prompt_forms import LineForm

FILLED = {"number": "100", "name": "Buy", "whom": "Owner", "any": "pieces=999", "kind": "image", "value": "0"}
"""What stands in the fields of a form in its example."""

SEPARATORS = ("\n", "\r", "\r\n", "\x0b", "\x0c", "\x1c", "\x1d", "\x1e", "\x85", "\u2028", "\u2029")
UNSEEN = ("\u200b", "\u200d", "\u2060", "\ufeff", "\u00ad", "\u202e", "\u2067", "\U000e0041", "\ufe00", "\u0336", "\0")
BLANKS = (" ", "  ", "\t", "\u00a0", "\u3000", "\u2003")

_HOMOGLYPHS = dict(
    zip("aceopxyKMT:", "\u0430\u0441\u0435\u043e\u0440\u0445\u0443\u041a\u041c\u0422\uff1a", strict=True)
)
_LATIN = {ord(other): letter for letter, other in _HOMOGLYPHS.items()}


def example(form: LineForm) -> str:
    """A line of ours."""
    return f"{form.format(**FILLED)} $approved = true"


def _lines() -> st.SearchStrategy[str]:
    """Lines of ours as somebody hides them: in another case, with other letters and blanks, with what nobody sees."""
    ours = st.sampled_from(list(LineForm)).map(example)
    swapped = ours.map(lambda text: "".join(_HOMOGLYPHS.get(char, char) for char in text))
    hidden = st.builds(lambda text, sign: sign + sign.join(text), ours, st.sampled_from(UNSEEN))
    spaced = st.builds(lambda text, blank: blank + text.replace(" ", blank), ours, st.sampled_from(BLANKS))
    numbered = ours.map("[2] {}".format)
    return st.one_of(
        ours, ours.map(str.upper), ours.map(str.lower), swapped, hidden, spaced, numbered, st.text(max_size=30)
    )


hostile = st.lists(st.tuples(_lines(), st.sampled_from(SEPARATORS)), min_size=1, max_size=4).map(
    lambda parts: "Well" + "".join(separator + line for line, separator in parts)
)
"""Texts in which lines may pose as ours."""


def taken_for_ours(texts: Iterable[str]) -> list[str]:
    """The lines that a reader takes for the runtime's. It looks at words alone: not at case, blanks, accents, at what
    nobody sees, or at which script a letter is of."""
    lines = (line for text in texts for line in re.split("[\r\n\x0b\x0c\x1c-\x1e\x85\u2028\u2029]", text))
    return [line for line in lines if _is_ours(line)]


def _is_ours(line: str) -> bool:
    read = unicodedata.normalize("NFKD", line).translate(_LATIN)
    read = "".join(char for char in read if unicodedata.category(char)[0] not in "MC")
    words = " ".join(read.split()).casefold()
    bare = re.sub(r"\A\[\d+\]", "", words.replace(" ", ""))
    noted = re.match(r"\([\w.]+(?:\(.*\) gave| failed:| was executed)|## [\w.]+\(|\(in [\w.]+:", words)
    says = re.match(r"[^\"“>|:\[(]{1,80}?\((?:user|agent\d+)\):", bare)
    gave = re.match(r"[\w.]+ gave (?:raised |artifact of|[\"\[{]|-?\d+\b(?! \w))", words)
    return any((noted, says, gave)) or bare.startswith(_BEGINNINGS)


_BEGINNINGS = tuple(
    begins for form in LineForm if len(begins := "".join(form.known.partition("{")[0].split()).casefold()) > 3
)
