"""For whom a step is, and whom it names: read by a grammar, in which the program's agents are tokens."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any, Literal

from msgspec import Struct
from msgspec.structs import replace

from runtime.language.instructions.conditions.grammar import ConditionChart, grammar_of
from runtime.language.instructions.conditions.meanings import ACTIONS
from runtime.language.instructions.conditions.tokens import ConditionToken, Kind
from runtime.language.vocabulary.phrase import phrase, words_of
from runtime.language.vocabulary.word_list import WordList, words_of_text

_FILE = Path(__file__).parent / "hearing.grammar"
_MOST_PIECES = 9
"""The words and hyphens in the longest name."""


Heard = tuple[Literal["agent", "server", "unknown", "user", "person", "everybody", "nobody"], str]
"""An agent by its name, a server of tools, a word that can only be an agent and is `unknown`, the person outside
(`user`), another word for people, everybody, or nobody."""


class NamedListeners(Struct, frozen=True):
    """Those whom a step names behind its verb, with `lead` "", or behind "to", "with" or "from", and where."""

    lead: str
    who: tuple[Heard, ...]
    doubt: str
    """Why it is not sure who of them is meant; "" where it is."""
    start: int
    end: int

    @property
    def first(self) -> Heard:
        """Who is named first."""
        return self.who[0]


class AgentNames:
    """The agents whom a text can name, in small letters without gaps; an `exact` one only as it is written there."""

    def __init__(self, known: Mapping[str, tuple[str, Kind, str]]) -> None:
        self._known = known
        self._firsts = frozenset(name[:1] for name in known)

    @lru_cache(maxsize=4096)  # noqa: B019 - as few as there are agents
    def tokens(self, text: str) -> tuple[ConditionToken, ...]:
        """The words and marks of a text; an agent's name is one token, with the agent for its text."""
        return tuple(self._tokens(text))

    def agents(self, text: str) -> list[str]:
        """The agents that a text names, in its order."""
        return list(dict.fromkeys(token.text for token in self.tokens(text) if token.kind == "AGENT"))

    def owner(self, text: str) -> tuple[str, str]:
        """The agent that is all of a text, or to whom what else is in it belongs: "Researcher's study"; "" for none."""
        match self.tokens(text):
            case (ConditionToken(kind="AGENT", text=name),):
                return name, ""
            case (ConditionToken(kind="AGENT", text=name), ConditionToken(text="'s" | "'") as mark, _, *__):
                return name, text[mark.end :].strip()
        return "", ""

    def left_out_of(self, text: str) -> str:
        """A text with a blank in place of each agent that it names."""
        for token in reversed(self.tokens(text)):
            text = f"{text[: token.at]} {text[token.end :]}" if token.kind == "AGENT" else text
        return text

    def _tokens(self, text: str) -> Iterator[ConditionToken]:
        words, at = words_of_text(text), 0
        while at < len(words.words):
            word, (start, end) = words.words[at], words.places[at]
            found = self._named(words, at) if word[0] in self._firsts else None
            if found and words.ended[at - 1] != "$":
                kind, name, count = found
                yield ConditionToken(kind, name, start, words.places[at + count - 1][1])
                at += count
                continue
            said = text[start:end]
            if word == "'" and words.ended[at + 1] == "s" and words.joined(at + 1):
                word, end, at = "'s", words.places[at + 1][1], at + 1
            unknown = said[-5:] == "Agent" != said and said[0].isupper() and words.words[at + 1 : at + 3] != ("'", "s")
            yield ConditionToken("UNKNOWN" if unknown else "WORD", said if unknown else word, start, end)
            at += 1

    def _named(self, words: WordList, at: int) -> tuple[Kind, str, int] | None:
        """The longest name that begins at a word."""
        squeezed, longest = "", None
        for count, word in enumerate(words.words[at : at + _MOST_PIECES], 1):
            if word == "-":
                continue
            squeezed += word.replace("_", "").casefold()
            name, kind, exact = self._known.get(squeezed, ("", "WORD", ""))
            if name and (not exact or words.text[words.places[at][0] : words.places[at + count - 1][1]] == exact):
                longest = (kind, name, count)
        return longest


@lru_cache(maxsize=4096)
def hearings(text: str, names: AgentNames) -> tuple[NamedListeners, ...]:
    """All whom a text names as those to whom it is, from the left."""
    tokens, grammar = names.tokens(text), grammar_of(_FILE)
    over = ConditionToken("END", "", len(text), len(text))
    chart, leads = ConditionChart(grammar, _ACTIONS, (*tokens, over)), grammar.firsts["hearing"]
    found = []
    for at in range(len(tokens)):
        ends = chart.ends("hearing" if at else "opening", at) if not at or tokens[at].text in leads else ()
        if ends:
            lead, who, doubt = ends[max(ends)][0]
            found.append(NamedListeners(lead, who, doubt, tokens[at].at, (*tokens, over)[max(ends) - 1].end))
    return tuple(found)


def listeners(text: str, names: AgentNames) -> Sequence[NamedListeners]:
    """Those whom a text names, from the part that names who hears it: "Introduce Cook to the user"."""
    found = hearings(text, names)
    if phrase("about others").begins(text) or phrase("hands on").begins(text):
        to = (one.start for one in found if one.lead == "to" and one.first[0] in ("agent", "user", "person"))
        start = next(to, 0)
        found = tuple(one for one in found if one.start >= start)
    clause = phrase("reported").inside(text) if any(one.start for one in found) else None
    asks = phrase("ask always").begins(text)
    if clause and (asks or phrase("to a role").begins(text)):  # "Ask if it went to Cook"
        found = tuple(one for one in found if one.start < clause.start() or one.lead == "by asking")
    alone = phrase("question begins").begins(text) and not phrase("hands on").inside(text)
    about = ("to", "with") if asks and alone else ()  # "Ask for the way to Cook"
    found = tuple(one for one in found if one.lead not in about or _noun_before(one, text) == "question")
    if found and found[0].start and found[0].first[0] == "agent":
        within = clause and clause["fact"] and phrase("tell").begins(text) and found[0].start > clause.start()
        leads = _noun_before(found[0], text) in words_of("leads somewhere") and not phrase("hands a thing").begins(text)
        if within or leads:
            return (replace(found[0], doubt="who hears it may be part of what is said"),)
    return found


def _noun_before(one: NamedListeners, text: str) -> str:
    return (text[: one.start].split() or [""])[-1].lower().removesuffix("s")


def _who(kind: str) -> Callable[..., Heard]:
    return lambda said: (kind, said.text if isinstance(said, ConditionToken) else "")  # type: ignore[return-value]


_NOBODY: tuple[Heard, ...] = (("nobody", ""),)
_UNCLEAR = "which of them is meant is unclear"
_ACTIONS: Mapping[str, Callable[..., Any]] = {
    **ACTIONS,
    "opened": lambda _, __, whom, behind: ("", whom[0], behind or whom[1]),
    "led": lambda lead, whom: (lead, *whom),
    "sent": lambda _, whom, __: ("", whom[0], "they are to go there"),
    "owned": lambda *_: ("what", _NOBODY, ""),
    "nobody": lambda *_: ("", _NOBODY, "nobody is told anything"),
    "others": lambda *_: ("", _NOBODY, "who of them is meant is not said"),
    "nothing_said": lambda *_: "nobody is told anything",
    "later": lambda _, __, own: "" if own else "when it is said is part of the sentence",
    "over": lambda *_: "somebody else is to speak with them",
    "alone": lambda _, one: ((one,), ""),
    "together": lambda _, one, others: ((one, *others[0]), others[1]),
    "all": lambda listed, _, __, last: ((*listed, last), ""),
    "one_of": lambda *parts: (tuple(one for one in parts if isinstance(one, tuple) and one[0]), _UNCLEAR),
    **{kind: _who(kind) for kind in ("user", "person", "everybody", "agent", "server", "unknown")},
}
