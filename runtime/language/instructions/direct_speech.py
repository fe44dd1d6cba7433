"""A step's sentence as its agent would say it: "Tell the user that they pay $total euros" is "You pay 12 euros."."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from typing import Any

from runtime.language.vocabulary.phrase import phrase

_VARIABLE = re.compile(r"\$([^\W\d]\w*)(?::[A-Za-z]\w*(?:\[[^\]\n]*\])?)?|\{\$?([^\W\d]\w*)\}")
_KEPT = re.compile(r",?\s*(?:and|then)\s+(?:set|keep|store|save|remember)\b.*\Z", re.IGNORECASE | re.DOTALL)
_KEPT_AS = re.compile(
    r",?\s*(?:and|then)\s+(?:(?:keep|store|save|remember)\s+(?:it|this|that|them|the (?:answer|reply))\s+(?:as|in)|set)"
    r"\s+\$(\w+)(?::\w+(?:\[[\w\[\], ]*\])?)?\s*\Z",
    re.IGNORECASE,
)
_MAY_LACK = re.compile(r",\s*which they (?:may|can) (?:leave out|skip)\Z", re.IGNORECASE)
_NEXT = re.compile(r",?\s+and\s+(?=(?:say|tell|wish|thank|ask)\b)", re.IGNORECASE)

_ONE = r"(?:the )?(?:user|customer|client|guest|person|them|everyone|all)"
_WHOM = rf"(?:(?:to )?{_ONE} )"
_AUXILIARY = "are|were|can|could|will|would|should|may|must"
_FORMS: Sequence[tuple[re.Pattern[str], str]] = [
    (re.compile(pattern, re.IGNORECASE), said)
    for pattern, said in (
        (r"say (?:goodbye|farewell)", "Goodbye!"),
        (rf"(?:tell|inform|remind|warn|let) {_WHOM}(?:know )?that (?P<what>.+)", "{what}."),
        (rf"(?:say|explain) {_WHOM}?that (?P<what>.+)", "{what}."),
        (rf"tell {_WHOM}to (?P<what>.+)", "Please {what}."),
        (rf"wish {_WHOM}(?P<what>.+)", "I wish you {what}."),
        (rf"thank {_ONE}(?P<what>(?: for .+)?)", "Thank you{what}."),
        (rf"apologi[sz]e(?: to {_ONE})?(?P<what>(?: for .+)?)", "I am sorry{what}."),
        (r"greet (?P<what>.+) by name", "Hello, {what}!"),
        (rf"greet {_ONE}", "Hello!"),
        (rf"welcome {_ONE}", "Welcome!"),
        (rf"ask {_WHOM}?for (?:their|his or her) (?P<what>.+ and .+)", "What are your {what}?"),
        (rf"ask {_WHOM}?for (?:their|his or her) (?P<what>.+)", "What is your {what}?"),
        (rf"ask {_WHOM}?for (?:the|an?) (?P<what>.+)", "What is the {what}?"),
        (rf"ask {_WHOM}?(?:whether|if) they (?P<verb>{_AUXILIARY}) (?P<what>.+)", "{verb} you {what}?"),
        (rf"ask {_WHOM}?(?:whether|if) they (?P<what>.+)", "Do you {what}?"),
        (
            rf"ask {_WHOM}?(?P<word>how|what|who|when|where) (?P<what>.+) (?P<verb>is|are|was|were)",
            "{word} {verb} {what}?",
        ),
        (rf"ask {_WHOM}?(?P<what>(?:who|what|which \w+) (?:is|are|was) .+)", "{what}?"),
    )
]
"""Authors' sentences and their direct speech. In `what`, "they" becomes "you", and "you" becomes "I"."""

_TURNED: Mapping[str, str] = {
    "they": "you",
    "them": "you",
    "their": "your",
    "theirs": "yours",
    "themselves": "yourself",
    "you": "I",
    "your": "my",
    "yours": "mine",
    "yourself": "myself",
}
_PRONOUN = re.compile(rf"\b(?:{'|'.join(_TURNED)})\b", re.IGNORECASE)
_INSTRUCTS = phrase("instructs")


def without_bookkeeping(text: str, wanted: Collection[str]) -> str:
    """A question without the variable for its answer: a model asks "who is coming", not "and keep it as …"."""
    bare = text.strip().rstrip(".")
    found = _KEPT_AS.search(bare)
    return bare[: found.start()] if found and found[1] in wanted else text


def direct_speech(text: str, names: Mapping[str, Any]) -> str | None:
    """The words of a message, if its sentence states nearly all of them; None for others. `names` are the values."""
    told = _valued(_MAY_LACK.sub("", _KEPT.sub("", text.strip().rstrip("."))), names)
    if told is None:
        return None
    said = [_sentence(clause) for clause in _NEXT.split(told)]
    return " ".join(one for one in said if one) if all(said) else None


def _valued(text: str, names: Mapping[str, Any]) -> str | None:
    """A text with the values of its variables, and the names of unset ones; None if a value is no word."""
    found = [found[1] or found[2] for found in _VARIABLE.finditer(text)]
    if any(
        not isinstance(names.get(name, ""), str | int | float) or isinstance(names.get(name), bool) for name in found
    ):
        return None

    def value(one: re.Match[str]) -> str:
        name = one[1] or one[2]
        return str(names[name]) if name in names else name.replace("_", " ")

    return _VARIABLE.sub(value, text)


def _sentence(clause: str) -> str | None:
    """The direct speech of one clause; None if it refers to the person in another way, or has an unknown form."""
    matches = ((pattern.fullmatch(clause.strip()), form) for pattern, form in _FORMS)
    parts, form = next(((found.groupdict(), form) for found, form in matches if found), ({}, ""))
    what = parts.get("what", "")
    if not form or re.search(r"\bthe (?:user|customer|client|guest|person)\b", what, re.IGNORECASE):
        return None
    turned = _PRONOUN.sub(lambda found: _TURNED[found[0].lower()], what)
    said = form.format(**{**parts, "what": turned})
    return said[0].upper() + said[1:]


def is_instruction(text: str) -> bool:
    """Whether words say what is to be said, and cannot be the message themselves."""
    return bool(_INSTRUCTS.begins(text))
