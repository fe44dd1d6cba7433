"""The positive of a condition in words: small models answer *is there no such order* by whether there is one."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from runtime.language.instructions.operands import NOT_SO

_DENIED: Mapping[str, str] = {
    **{f"{verb}n't": verb for verb in ("is", "are", "was", "were", "has", "have", "had", "do", "does", "did")},
    **{f"{verb}n't": verb for verb in ("would", "could", "need")},
    "can't": "can",
    "cannot": "can",
    "won't": "will",
}
_BEFORE_NOT = frozenset(_DENIED.values())
_SOMEBODY: Mapping[str, str] = {"nobody": "somebody", "nothing": "something", "none": "some"}
_AFTER_NO = frozenset({"there is", "there are", "there was", "there were"})
_HAVE = frozenset({"has", "have", "had", "gave", "give", "gives", "needs", "need", "wants", "want", "found", "finds"})
_SOME: Mapping[str, str] = {"any": "some", "anything": "something", "anyone": "someone", "anybody": "somebody"}
_OTHER_MEANING = frozenset(
    {
        *("and", "or", "but", "nor", "neither", "unless", "if", "without", "never", "except", "because", "when"),
        *("all", "every", "each", "both", "everybody", "everyone", "everything", "always", "most", "many", "some"),
        *("only", "just", "longer", "more", "less", "fewer", "yet", "either", "even", "until", "who", "that", "which"),
    }
)
"""Words beside which the denied text is not the opposite of the rest, as in "not all of them came"."""

_OF_A_MIND = frozenset(
    {
        *("want", "like", "agree", "think", "believe", "know", "seem", "expect", "mind", "care", "wish", "hope"),
        *("intend", "plan", "happy", "satisfied", "pleased", "interested", "sure", "certain", "fine", "ok", "okay"),
        *("good", "convinced", "comfortable", "willing", "ready"),
    }
)
"""Words whose denial says more than that they are not so: who does not want it refuses it, and may also not care."""


@dataclass(frozen=True, slots=True)
class PositiveTest:
    """A condition as it is asked; where it is `turned`, *yes* means that the condition does not hold."""

    text: str
    turned: bool = False


def positive_test(text: str) -> PositiveTest:
    """The condition without its negation, if it surely has one alone; else as it is."""
    if text.startswith(NOT_SO):
        inner = positive_test(text.removeprefix(NOT_SO))
        return PositiveTest(inner.text, not inner.turned)
    if '"' in text or "(" in text:
        return PositiveTest(text)
    words = text.split()
    plain = [word.lower().replace("\N{RIGHT SINGLE QUOTATION MARK}", "'").strip(",.:") for word in words]
    if not (_OTHER_MEANING | _OF_A_MIND).isdisjoint(plain):
        return PositiveTest(text)
    denials = [at for at, word in enumerate(plain) if word in ("no", "not") or word in _DENIED or word in _SOMEBODY]
    if len(denials) != 1:
        return PositiveTest(text)
    [at] = denials
    said = _affirmed(words, plain, at)
    return PositiveTest(" ".join(said), turned=True) if said else PositiveTest(text)


def _affirmed(words: list[str], plain: list[str], at: int) -> list[str]:
    """The words without the denial at this place; none where it may deny something else."""
    before, behind, word = words[:at], words[at + 1 :], plain[at]
    after = [_SOME.get(one.lower(), one) for one in behind]
    if word in _DENIED:
        return [*before, _DENIED[word], *after] if before else []
    if word == "not":
        return [*before, *after] if not before or plain[at - 1] in _BEFORE_NOT else []
    if word in _SOMEBODY:
        return [_SOMEBODY[word], *behind] if not before and behind and behind[0] != "of" else []
    if not behind:
        return []
    if plain[at + 1] == "one":
        return ["someone", *behind[1:]] if not before else []
    if " ".join(plain[max(0, at - 2) : at]) in _AFTER_NO:
        return [*before, *_one_of(behind, plain[at - 1])]
    return [*before, *_one_of(behind, "any")] if before and plain[at - 1] in _HAVE else []


def _one_of(behind: list[str], verb: str) -> list[str]:
    """What there is in place of none of it: "such an order" for "such order", "an order", "orders"."""
    if behind[0] == "such":
        return ["such", *_one_of(behind[1:], verb)] if behind[1:] and verb in ("is", "was") else behind
    if verb in ("are", "were"):
        return behind
    if verb == "any":
        return ["some", *behind]
    return ["an" if behind[0][0].lower() in "aeiou" else "a", *behind]
