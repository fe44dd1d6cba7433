"""Matching of words with a phrase: each part of one is a function that tries what comes behind it, too."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from runtime.language.vocabulary.word_list import WordList

Groups = dict[str, tuple[int, int]]
"""The first word of each named part, and the first behind it."""
Part = Callable[[WordList, int, Groups], int]
"""Where a match ends that begins at this word, or -1."""
Maker = Callable[[Part], Part]
"""A part, when it is known what comes behind it."""

_MARKS_OF_A_CLAUSE = frozenset(",;")
_ALSO_NOUNS = frozenset({"till", "while"})
_BEFORE_A_NOUN = frozenset({"the", "a", "our", "your", "their", "his", "her", "my", "this"})


def over(words: WordList, at: int, groups: Groups) -> int:
    """The end of every phrase."""
    return at


def step(end_of: Callable[[WordList, int], int]) -> Maker:
    """A part that ends, where it begins at a word, at `end_of`; -1 where it does not fit."""

    def maker(then: Part) -> Part:
        def part(words: WordList, at: int, groups: Groups) -> int:
            end = end_of(words, at)
            return then(words, end, groups) if end >= 0 else -1

        return part

    return maker


def word_where(fits: Callable[[WordList, int], bool]) -> Maker:
    """One word or mark that fits."""

    def maker(then: Part) -> Part:
        def part(words: WordList, at: int, groups: Groups) -> int:
            return then(words, at + 1, groups) if words.ended[at] and fits(words, at) else -1

        return part

    return maker


def word(said: str, *, joined: bool = False) -> Maker:
    """This word or mark, and no noun or variable of this name; a `joined` one follows without a blank."""

    def maker(then: Part) -> Part:
        def part(words: WordList, at: int, groups: Groups) -> int:
            if words.ended[at] == said and (not joined or words.joined(at)):
                before = words.ended[at - 1]
                noun = said in _ALSO_NOUNS and before in _BEFORE_A_NOUN  # "the till"
                named = noun or (not joined and before == "$" and words.joined(at))  # `$until`
                return -1 if named else then(words, at + 1, groups)
            return -1

        return part

    return maker


def word_beginning(starts: tuple[str, ...]) -> Maker:
    """One word that begins in one of these ways."""
    return word_where(lambda words, at: words.ended[at].startswith(starts))


def _is_word(words: WordList, at: int) -> bool:
    first = words.words[at][0]
    return first.isalnum() or first == "_"


def one_of(choices: Sequence[Maker], firsts: Sequence[frozenset[str] | None]) -> Maker:
    """The first of several that fits, with what comes behind it. `firsts` are the words with which each can begin."""

    def maker(then: Part) -> Part:
        parts = [choice(then) for choice in choices]
        anywhere = tuple(part for part, begins in zip(parts, firsts, strict=True) if begins is None)
        by_word = {
            begin: tuple(part for part, begins in zip(parts, firsts, strict=True) if begins is None or begin in begins)
            for begin in frozenset().union(*(begins or () for begins in firsts))
        }

        def chosen(words: WordList, at: int, groups: Groups) -> int:
            first = words.ended[at]
            for part in by_word[first] if first in by_word else anywhere:  # noqa: SIM401 - quicker than a call
                end = part(words, at, groups)
                if end >= 0:
                    return end
            return -1

        return chosen

    return maker


def in_order(makers: Sequence[Maker]) -> Maker:
    """One behind the other."""

    def maker(then: Part) -> Part:
        for one in reversed(makers):
            then = one(then)
        return then

    return maker


def perhaps(inner: Maker) -> Maker:
    """What may be absent."""

    def maker(then: Part) -> Part:
        with_it = inner(then)

        def part(words: WordList, at: int, groups: Groups) -> int:
            end = with_it(words, at, groups)
            return end if end >= 0 else then(words, at, groups)

        return part

    return maker


def repeated(inner: Maker) -> Maker:
    """What is there once or more often: as often as it can be."""
    once = inner(over)

    def maker(then: Part) -> Part:
        def part(words: WordList, at: int, groups: Groups) -> int:
            behind, end = at, once(words, at, groups)
            while end > behind:
                behind, end = end, once(words, end, groups)
            return then(words, behind, groups) if behind > at else -1

        return part

    return maker


def rest(*, within_a_clause: bool = False) -> Maker:
    """As few words as possible; `within_a_clause` no comma and no semicolon among them."""

    def maker(then: Part) -> Part:
        def part(words: WordList, at: int, groups: Groups) -> int:
            for start in range(at, len(words.words) + 1):
                end = then(words, start, groups)
                if end >= 0:
                    return end
                if within_a_clause and start < len(words.words) and words.words[start] in _MARKS_OF_A_CLAUSE:
                    return -1
            return -1

        return part

    return maker


def named(name: str, inner: Maker) -> Maker:
    """A part whose words are asked for by name."""
    begun = f"{name} begun"

    def maker(then: Part) -> Part:
        def behind(words: WordList, end: int, groups: Groups) -> int:
            start = groups[begun]
            last = then(words, end, groups)
            groups[begun] = start
            if last >= 0:
                groups[name] = start[0], end
            return last

        whole = inner(behind)

        def part(words: WordList, at: int, groups: Groups) -> int:
            groups[begun] = at, at
            return whole(words, at, groups)

        return part

    return maker


def looking(inner: Maker, *, fits: bool) -> Maker:
    """What must come next, or must not, and is no part of the match."""
    ahead = inner(over)

    def maker(then: Part) -> Part:
        def part(words: WordList, at: int, groups: Groups) -> int:
            return then(words, at, groups) if (ahead(words, at, groups) >= 0) is fits else -1

        return part

    return maker


def _variable(words: WordList, at: int) -> int:
    ends = at + 1 < len(words.words) and words.words[at] == "$" and words.joined(at + 1) and _is_word(words, at + 1)
    return at + 2 if ends else -1


def _quotation(words: WordList, at: int) -> int:
    closing = {'"': '"', "\u201c": "\u201d"}.get(words.words[at]) if at < len(words.words) else None
    return next((end + 1 for end in range(at + 1, len(words.words)) if words.words[end] == closing), -1)


def _end(words: WordList, at: int) -> int:
    return at if at == len(words.words) else -1


def _blank(words: WordList, at: int) -> int:
    return at if at and not words.joined(at) else -1


def _place(words: WordList, at: int) -> int:
    end = _variable(words, at)
    while end >= 0 and end + 1 < len(words.words) and words.joined(end):
        if words.words[end] == "." and words.joined(end + 1) and _is_word(words, end + 1):
            end += 2
        elif words.words[end] == "[" and "]" in words.words[end:]:
            end = words.words.index("]", end) + 1
        else:
            break
    return end


def _call(words: WordList, at: int) -> int:
    while words.words[at + 1 : at + 2] and words.joined(at + 1) and words.words[at].isidentifier():
        if words.words[at + 1] == "(":
            return at + 2
        if words.words[at + 1] != "." or not words.joined(at + 2):
            break
        at += 2
    return -1


def _anything(words: WordList, at: int) -> int:
    if at == len(words.words):
        return -1
    return next((end for end in range(at + 1, len(words.words)) if not words.joined(end)), len(words.words))


KINDS: Mapping[str, Maker] = {
    "WORD": word_where(_is_word),
    "NUMBER": word_where(lambda words, at: words.words[at].isdecimal()),
    "CLOCK": word_where(lambda words, at: words.words[at].rstrip("apmh").isdecimal() != words.words[at].isdecimal()),
    "NAME": word_where(lambda words, at: "A" <= words.text[words.places[at][0]] <= "Z" and len(words.words[at]) > 1),
    "VARIABLE": step(_variable),
    "PLACE": step(_place),
    "CALL": step(_call),
    "QUOTATION": step(_quotation),
    "ANYTHING": step(_anything),
    "START": step(lambda words, at: -1 if at else 0),
    "BLANK": step(_blank),
    "END": step(_end),
    "REST": step(lambda words, at: len(words.words)),
}
"""What is written in capitals in a phrase."""
