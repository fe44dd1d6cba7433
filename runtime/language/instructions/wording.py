"""Wordings of conditions with a single reading, as symbols."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache

MEETING_ACTIVE = "_meeting_active"
"""The name under which conditions read whether their meeting is still active."""

_V = r"(\$\w+(?:\.\w+|\[[^\]]*\])*)"
_NUMBER = r"(-?\d+(?:\.\d+)?|\$\w+(?:\.\w+|\[[^\]]*\])*)"
_IS = r"(?:is|are|was|becomes?|equals?)"
_LITERAL = r"(?:\"\d+\"|-?\d+(?:\.\d+)?)"
_TEXT = r"(\"\d+\"|\$\w+)"
_END = r"(?=\s*(?:\Z|\)|,|and\b|or\b))"
_CHOSEN = re.compile(
    rf"{_V}\s+(?:is|are|equals?)(\s+not)?\s+((?:either|one of|any of)\s+)?({_LITERAL}(?:\s*,\s+{_LITERAL})*)"
    rf"(?:\s*,?\s+or\s+({_LITERAL}))?(?=\s*(?:\Z|\)|and\b|or\b(?!\s*{_LITERAL})))",
    re.IGNORECASE,
)
"""`$x is 3, 4 or 5`, with numbers in place of strings."""

_BOTH = re.compile(
    rf"{_V}\s+(and|or)\s+{_V}\s+are\s+(?:both\s+)?((?:not\s+)?\w+)(?=\s*(?:\Z|\)|and\b|or\b))", re.IGNORECASE
)
_STATE = re.compile(
    r"(?:not\s+)?(?:given|set|known|defined|empty|missing|unset|even|odd|positive|negative|true|false)", re.IGNORECASE
)
_TOGETHER = re.compile(rf"{_V}\s+(?:and|or)\s+{_V}\s+are\b", re.IGNORECASE)

_MARKS = tuple(
    (re.compile(pattern), symbol)
    for pattern, symbol in (
        (r"\s*&&\s*", " and "),
        (r"\s*\|\|\s*", " or "),
        (r"([!=])==", r"\1="),
        (r"!(?=[$(])", "not "),
    )
)
"""The signs of other languages."""

_WORDS: tuple[tuple[re.Pattern[str], str], ...] = tuple(
    (re.compile(pattern, re.IGNORECASE), symbol)
    for pattern, symbol in (
        (r"\A(?:(?:you|we) are (?:still )?|still )?in (?:the|this) meeting\b", f"${MEETING_ACTIVE}"),
        (
            r"\b(?:(?:the|this) )?meeting (?:is|remains) (?:still )?(?:active|ongoing|going on|open|running)\b",
            f"${MEETING_ACTIVE}",
        ),
        (r"\b(?:(?:the|this) )?meeting (?:has ended|is over|ended|is not active)\b", f"(not ${MEETING_ACTIVE})"),
        (rf"\bthere (?:is|are) no {_V}", r"(\1 == None)"),
        (rf"{_V}\s+is\s+not\s+between\s+{_NUMBER}\s+and\s+{_NUMBER}", r"(not (\2 <= \1 <= \3))"),
        (rf"{_V}\s+is\s+between\s+{_NUMBER}\s+and\s+{_NUMBER}", r"(\2 <= \1 <= \3)"),
        (rf"{_V}\s+(?:is|are)\s+not\s+(?:given|set|known|defined)\b", r"(\1 == None)"),
        (rf"{_V}\s+(?:is|are)\s+(?:unset|unknown|missing|undefined)\b", r"(\1 == None)"),
        (rf"{_V}\s+(?:does not exist|has no value|was not given)\b", r"(\1 == None)"),
        (rf"{_V}\s+(?:exists|has a value|(?:is|are|was)\s+(?:given|set|known|defined))\b", r"(\1 != None)"),
        (rf"{_V}\s+(?:is|are)\s+not\s+empty\b", r"(not not \1)"),
        (rf"{_V}\s+(?:is|are)\s+empty\b", r"(not \1)"),
        (rf"{_V}\s+is\s+even\b", r"(\1 % 2 == 0)"),
        (rf"{_V}\s+is\s+odd\b", r"(\1 % 2 == 1)"),
        (rf"{_V}\s+is\s+positive\b", r"(\1 > 0)"),
        (rf"{_V}\s+is\s+negative\b", r"(\1 < 0)"),
        (rf"{_V}\s+(?:is|are)\s+(?:true|yes)\b", r"(\1 == True)"),
        (rf"{_V}\s+(?:is|are)\s+(?:false|no)\b(?!\s+\w)", r"(\1 == False)"),
        (rf"{_V}\s+(?:does not contain|doesn't contain)\s+(\"[^\"]*\"|'[^']*'|\$\w+|[-\d.]+)", r"(\2 not in \1)"),
        (rf"{_V}\s+contains\s+(\"[^\"]*\"|'[^']*'|\$\w+|[-\d.]+)", r"(\2 in \1)"),
        (
            rf"{_V}\s+(?:does not|doesn't)\s+(?:start|begin)\s+with\s+{_TEXT}",
            r"(not (\1 != None and str(\1).startswith(\2)))",
        ),
        (rf"{_V}\s+(?:starts|begins)\s+with\s+{_TEXT}", r"(\1 != None and str(\1).startswith(\2))"),
        (rf"{_V}\s+(?:does not|doesn't)\s+end\s+with\s+{_TEXT}", r"(not (\1 != None and str(\1).endswith(\2)))"),
        (rf"{_V}\s+ends\s+with\s+{_TEXT}", r"(\1 != None and str(\1).endswith(\2))"),
        (rf"{_V}\s+is\s+neither\s+({_LITERAL})\s+nor\s+({_LITERAL}){_END}", r"(\1 not in [\2, \3])"),
        (rf"{_V}\s+(?:is|are)\s+{_NUMBER}\s+or\s+(?:more|greater|higher|above|over){_END}", r"(\1 >= \2)"),
        (rf"{_V}\s+(?:is|are)\s+{_NUMBER}\s+or\s+(?:less|fewer|lower|smaller|below|under){_END}", r"(\1 <= \2)"),
        (rf"{_V}\s+(?:is|are)\s+not\s+the\s+same\s+as\s+{_V}{_END}", r"(\1 != \2)"),
        (rf"{_V}\s+(?:is|are)\s+the\s+same\s+as\s+{_V}{_END}", r"(\1 == \2)"),
        (rf"{_V}\s+(?:differs\s+from|is\s+different\s+from)\s+{_V}{_END}", r"(\1 != \2)"),
        (rf"(?<![\w.\])]\s)({_LITERAL})\s+(?:is|are)\s+(not\s+)?in\s+(?=\$)", r"\1 \2in "),
        (rf"(\A|(?<!\w)\(|\b(?:and|or|not)\s+){_V}\s*=(?!=)\s*", r"\1\2 == "),
        (rf"{_V}\s+(?:is|are)\s+not\s+in\b", r"\1 not in"),
        (rf"{_V}\s+(?:is|are)\s+(?:one of|in)\b", r"\1 in"),
        (rf"{_V}\s+is\s+not\s+(?:divisible\s+by|a\s+multiple\s+of)\s+{_NUMBER}", r"(\1 % \2 != 0)"),
        (rf"{_V}\s+is\s+(?:divisible\s+by|a\s+multiple\s+of)\s+{_NUMBER}", r"(\1 % \2 == 0)"),
        (
            r"\b(?:is|are) (?:greater|more|larger|higher) than or equal to\b|\b(?:is|are) (?:at least|no less than)\b",
            ">=",
        ),
        (
            r"\b(?:is|are) (?:less|smaller|fewer|lower) than or equal to\b|\b(?:is|are) (?:at most|no more than)\b",
            "<=",
        ),
        (r"\b(?:is|are) not (?:greater|more|larger|higher) than\b", "<="),
        (r"\b(?:is|are) not (?:less|smaller|fewer|lower) than\b", ">="),
        (r"\b(?:is|are) (?:greater|more|larger|higher) than\b|\b(?:is|are) (?:above|over)\b|\bexceeds\b", ">"),
        (r"\b(?:is|are) (?:less|smaller|fewer|lower) than\b|\b(?:is|are) (?:below|under)\b", "<"),
        (r"\breaches\b", ">="),
        (
            r"\b(?:is|are) not equal to\b|\bdoes not equal\b|\b(?:is|are|was) not\b(?=\s*(?:[-\d\"'$\[]|true\b"
            r"|false\b|none\b))",
            "!=",
        ),
        (rf"\b{_IS}(?: equal)?(?: to)?\b(?=\s*(?:[-\d\"'$\[]|true\b|false\b|none\b|null\b))", "=="),
        (r"\btrue\b", "True"),
        (r"\bfalse\b", "False"),
        (r"\b(?:none|nothing|null)\b", "None"),
    )
)

_FAILURE = re.compile(
    r"\b(?:fail\w*|error\w*|problem\w*|unavailable|not available|does not work|did not work|went wrong|goes wrong"
    r"|exception\w*|outcome (?:is|was) (?:not known|unknown)|could not|cannot be|can't be)\b",
    re.IGNORECASE,
)


@lru_cache(maxsize=4096)
def speaks_of_failure(text: str) -> bool:
    """Whether a condition or a note handles the failure of a call."""
    return _FAILURE.search(text) is not None


_ENDING = re.compile(
    r"\b(?:end\w*|exit\w*|quit\w*|finish\w*|stop\w*|clos(?:e|es|ing)|terminat\w*|abort\w*|cancel\w*|abandon\w*"
    r"|(?:good)?bye|farewell|leaves?|shut\w*|hang up|give up)\b",
    re.IGNORECASE,
)


def speaks_of_ending(text: str, notes: Sequence[str]) -> bool:
    """Whether a step, or a note on all of them, may mean that the program ends."""
    return any(_ENDING.search(one) for one in (text, *notes))


_STRING = re.compile(r"\"[^\"\n]*\"|'[^'\n]*'(?!\w)")
_LOGIC = re.compile(r"\b(and|or|not)\b", re.IGNORECASE)
_SHORTENED = re.compile(r"(?<=\s)(is|are|was|does)n['\u2019]t\b", re.IGNORECASE)
_NAMED = re.compile(r"\b(?:the\s+(?:current\s+)?value\s+of\s+|value\s+of\s+)?(?:the\s+)?(?=\$\w)", re.IGNORECASE)
_THEN = re.compile(r"[,\s]\s*(?:then|(?:then\s+)?do(?:\s+(?:this|these|the following)(?:\s+steps)?)?)\Z", re.IGNORECASE)
_LONGEST_THEN = 40


def without_then(text: str) -> str:
    """A condition without the "then" or "do the following" at its end."""
    text = text.rstrip()
    found = _THEN.search(text, max(0, len(text) - _LONGEST_THEN))
    return text[: found.start()].rstrip(" ,") if found else text


def in_symbols(text: str) -> str:
    """A condition with its words replaced by symbols. Quoted text stays; remaining words are prose."""
    strings: list[str] = []

    def put_away(found: re.Match[str]) -> str:
        strings.append(found[0])
        return f'"{len(strings) - 1}"'

    code = _NAMED.sub("", _SHORTENED.sub(r"\1 not", _STRING.sub(put_away, text)))
    code = _CHOSEN.sub(_one_of, _BOTH.sub(_each, code))
    if _TOGETHER.search(code):
        return text  # what is so of several together is prose
    for pattern, symbol in (*_MARKS, *_WORDS):
        code = pattern.sub(symbol, code)
    code = _LOGIC.sub(lambda found: found[1].lower(), code)
    return re.sub(r'"(\d+)"', lambda found: strings[int(found[1])], code)


def _one_of(found: re.Match[str]) -> str:
    listed, last = found[4], found[5]
    if last is None and not found[3]:
        return found[0]
    values = listed if last is None else f"{listed}, {last}"
    return f"({found[1]} {'not in' if found[2] else 'in'} [{values}])"


def _each(found: re.Match[str]) -> str:
    """`$a and $b are given` means that each of them is."""
    if not _STATE.fullmatch(found[4]):
        return found[0]
    return f"({found[1]} is {found[4]} {found[2]} {found[3]} is {found[4]})"
