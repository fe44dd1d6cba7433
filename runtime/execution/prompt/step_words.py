"""Steps in the words of their author, without codes: for models and for people."""

from __future__ import annotations

import re

_CODES = re.compile(r";?\s*YLD for [^;]*|;?\s*done when [^;]*")
_SAY = re.compile(r"\ASay\((?P<to>[^,()]*),\s*(?P<words>.*?)\)?\Z", re.DOTALL)


def step_words(text: str) -> str:
    """A step as its author put it, without the codes."""
    bare = _CODES.sub("", text).strip()
    said = _SAY.match(bare)
    if said is None:
        return "" if re.fullmatch(r"\d+(?:\.\d+)*|for \w+", bare) else bare
    return said["words"].split("; Say(")[0].removesuffix(")") if said["words"] else bare
