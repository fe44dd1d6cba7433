"""The English of steps that speak: to whom, what may be part of the message, and when it is said."""

from __future__ import annotations

import re
from collections.abc import Collection

from runtime.language.instructions.conditions.reading import read_answer
from runtime.language.lowering import phrases
from runtime.language.lowering.clauses import unquoted
from runtime.language.lowering.instruction import LoweredInstruction, free

ADDRESSED = re.compile(
    r"\bto\s+(?:the\s+|each\s+|every\s+|both\s+)?(?:users?|customers?|clients?|guests?|players?|visitors?|person|people|them|him|her"
    r"|everyone|everybody|all|others|participants|attendees|team|group|room|meeting|(?-i:[A-Z])\w+)\b",
    re.IGNORECASE,
)
CHOICES = re.compile(r"\b(?:options?|choices?|commands?|words?|buttons?|menu|keys?|between|one of)\b", re.IGNORECASE)
LISTED = re.compile(r"[,:]\s*(?:or\s+)?([\w'-]+)\s*$")
"""The last word of a list."""
LATER = re.compile(
    r"\b(?:in|after)\s+(?:\d+|\$\w+|an?|one|two|three|four|five|six|ten|twelve|half an|some)\s+(?:more\s+)?"
    r"(?:second|minute|hour|day|week|month)s?\b"
    r"|\b(?:second|minute|hour|day|week|month)s?\s+(?:before|after|later|from now|ahead|prior)\b",
    re.IGNORECASE,
)
LATER_REMINDED = re.compile(
    r"\b(?:at\s+(?:\d|the\s+time)|(?:tomorrow|tonight|later|daily|weekly)\b|every\s+(?:\w+\s+)?(?:hour|day|week|morning|evening)"
    r"|on\s+(?:mon|tues|wednes|thurs|fri|satur|sun)day)",
    re.IGNORECASE,
)
"""The time at which somebody is to be told, or reminded."""
ASKS_QUOTED = re.compile(
    r"^ask(?:\s+(?:the\s+)?(?:user|customer|them))?\b\s*:?\s*(?:\"[^\"]*\"|\u201c[^\u201d]*\u201d)$", re.IGNORECASE
)
ASKS_AGAIN = re.compile(
    r"\bask(?:ing)?(?:\s+(?:the\s+)?(?:user|customer|person|them|him|her|for it|for them))*"
    r"\s+(?:again|once more|anew)\b"
    r"|^re-?ask\b|\brepeat the question\b",
    re.IGNORECASE,
)
_ANSWERS = frozenset(
    {
        *("answer", "answers", "reply", "replies", "response", "responses", "input", "confirmation", "them"),
        *("user", "him", "her"),
    }
)
_SILENT = frozenset({"waiting", "listening", "quiet", "silent", "still", "watching", "patient"})
_SAYS_A_THING = frozenset(
    {
        *(
            "explain",
            "share",
            "present",
            "describe",
            "state",
            "report",
            "announce",
            "mention",
            "summarize",
            "summarise",
        ),
        *("discuss", "print", "display", "output", "repeat", "review", "provide", "express", "demonstrate", "read"),
    }
)
_OWN = frozenset({"their", "his", "her"})
_NEAR = 3
_SAYS_THAT = re.compile(r"^(?:say|(?:tell|inform|let)\b[^,]*|announce|explain)\s+(?:know\s+)?that\b", re.IGNORECASE)
"""A statement, behind which ", and end" is no part of it."""
_PERHAPS_ASKED = re.compile(r"\b(?:and|,)\s+if\s+(?:so|yes|any|not|they\s+(?:do|are|have))\b.*\$", re.IGNORECASE)
"""A second question that depends on the answer to the first: "whether they want it, and if so, when ($when)"."""
_GRANTS = frozenset({"give", "grant"})
_GRANTED = frozenset({"percent", "discount", "refund", "credit", "off", "bonus"})
_EACH_ALONE = (["everyone"], ["everybody"])
_EACH_OF = (
    ["each", "of"],
    ["all", "of"],
    ["every", "one"],
    ["each", "person"],
    ["each", "player"],
    ["each", "participant"],
)
_TYPED = re.compile(r"\b(?:as|set|setting|into)\s+(?:the\s+|an?\s+)?\$(\w+):[A-Za-z]")
PLACEHOLDER = re.compile(r"\{[^{}\n]*\}")
QUOTATION = re.compile(r"\"[^\"]*\"|\u201c[^\u201d]*\u201d")
ANSWER_KEPT = re.compile(
    r"(?:,?\s+and\s+|[,;]\s*)(?:save|store|keep|put|record|remember|note)\s+"
    r"(?:it|this|that|(?:the|their)\s+\w+)\s+(?:down\s+)?(?:as|in|into|to)\s+(?:the\s+)?\$(\w+)"
    r"(:[\w\[\]]+)?\s*\.?$",
    re.IGNORECASE,
)
"""The variable for the answer, at the end of a question: "Ask what is wrong with $text and save it in $why"."""


def in_a_list(before: str, end: str) -> bool:
    """Whether a word such as "quit" is the last of a list: "the options: order, status, quit"."""
    if " " in end.strip(" ,;.!").removeprefix("and ").removeprefix("then ") or re.match(r"then\b|[;.]", end.strip()):
        return False
    plain = unquoted(before)
    listed = LISTED.search(plain)
    if listed is None or phrases.TELL.match(listed[1]) or phrases.ASK_ALWAYS.match(listed[1]):
        return False
    joined = re.match(r"\s*,?\s*(?:and\b|&)", end, re.IGNORECASE) is not None
    return not joined or ":" in plain or CHOICES.search(plain) is not None


def is_indirect(text: str) -> bool:
    """Whether what comes after a text may be part of its message: "Tell the user that …"."""
    return phrases.INDIRECT.search(ADDRESSED.sub(" ", unquoted(text))) is not None


def is_a_thing(said: str) -> bool:
    """Whether the common noun behind a verb is what is said, and not an agent of this name: "Explain reasoning"."""
    verb, _, name = said.partition(" ")
    return verb.lower() in _SAYS_A_THING and name.islower() and " " not in name


def is_told_to(head: str, rest: str, verb: str) -> bool:
    """Whether "and wait" belongs to what somebody is told to do: "Tell the user to restart it and wait a minute"."""
    asks = verb.lower().endswith("ask") or (_ANSWERS & set(rest.lower().replace("'", " ").split()))
    return is_indirect(head) and not asks


def belongs_to_a_person(whom: str) -> bool:
    """Whether what is waited for is a person's: "the user's answer"."""
    owner, owns, _ = whom.replace("\u2019", "'").partition("'")
    return bool(owns) and phrases.PERSON_OUTSIDE.fullmatch(owner.removeprefix("the ")) is not None


def only_waits(bare: str) -> bool:
    """Whether somebody in a meeting is to be there, and to say nothing: "Keep quiet until asked"."""
    first, _, rest = bare.lower().partition(" ")
    return rest.partition(" ")[0] in _SILENT or (first in ("stay", "remain") and phrases.UNTIL.search(rest) is not None)


def about_what_is_given(bare: str, given: Collection[str]) -> bool:
    """Whether a question is "about their $email", which has a value: it may be asked for again."""
    words = bare.rstrip(".!?").split()
    at = next((at for at, word in enumerate(words) if word.lower() in _OWN and at and words[at - 1] == "about"), None)
    return at is not None and len(words) - _NEAR <= at + 1 < len(words) and words[at + 1].removeprefix("$") in given


def more_than_words(bare: str, *, asks: bool, meeting: bool, given: Collection[str]) -> str:
    """Why a message may be more than its words, or more than one; "" where it is not."""
    words = bare.lower().replace(",", " ").replace(":", " ").split()
    typed = _TYPED.findall(QUOTATION.sub(" ", bare))
    if not asks:
        new = next((name for name in typed if name not in given), None)
        if new is not None:
            return f"it does not say who gives ${new}"
        return "it may be more than words" if words[0] in _GRANTS and (_GRANTED & {*words} or "%" in bare) else ""
    if not meeting and (words[1:2] in _EACH_ALONE or words[1:3] in _EACH_OF):
        return "it asks several people, and one answer would end it"
    if words[1:2] in (["that"], ["this"]) and phrases.PERSON.fullmatch(" ".join(words[2:3])):
        return "who is meant is known only when it runs"
    if "$" in bare and ("optional" in words or _PERHAPS_ASKED.search(bare)):
        return "a value that may be left out is asked for until it is given"
    until = phrases.UNTIL.search(bare)
    return "until when is not said" if until and read_answer(until[1]) else ""


def before_what(text: str) -> str:
    """A step up to its message: "Tell only Ada that …"."""
    what = re.search(r"\b(?:that|what|whether|if|how|why|about)\b|:", unquoted(text))
    return text[: what.start()] if what else text


def perhaps_later(text: str, bare: str) -> LoweredInstruction | None:
    """A free step for "Remind them in 10 minutes to drink", which is not said now; None for others."""
    whole = ADDRESSED.sub(" ", unquoted(bare)).replace("that time", "the time")
    told = phrases.INDIRECT.search(whole) or re.search(r"\b(?:if|whether)\b", whole)
    whole = whole[: told.start()] if told else whole
    when = LATER.search(whole) or (bare.lower().startswith("remind") and LATER_REMINDED.search(whole))
    return free(text, "when it is said is part of the sentence") if when else None


def perhaps_over(text: str, said: str) -> LoweredInstruction | None:
    """A free step for "Tell the user how to save and quit", which may or may not end the program; None for others."""
    over = phrases.AND_END.search(said)
    if over is None or " " in over[0].strip(" ,;.").removeprefix("and ").removeprefix("then "):
        return None
    before = said[: over.start()]
    if in_a_list(before, over[0]) or (before.rstrip().endswith(",") and _SAYS_THAT.match(before)):
        return None
    told = is_indirect(before) or ":" in unquoted(before)
    return free(text, f"{over[0].strip(' ,;.')!r} may be part of what is said") if told else None
