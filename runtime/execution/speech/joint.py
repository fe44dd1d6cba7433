"""Going on with a message that broke off: what people have read stays, and what is written next comes behind it.

A model that is asked for the rest does not always write the rest alone: some begin with the last words once more, some
write the whole message again. What a reply repeats is left out where it repeats what stands up to its end, word for
word, and not because the text has the same words several times in a row. Everything else is appended.
"""

from __future__ import annotations

import re
from functools import cached_property

from msgspec import Struct

INTERRUPTED = " ⏹"
"""Closes an utterance that was broken off and will not be finished."""

NEARLY_ALL = 0.9
"""The part of a text that a repetition of it agrees with."""

_ANEW = f"{INTERRUPTED}\n\n"
"""Between a text that broke off and one that was not to go on from it."""

_SURE_CHARS = 20
"""The length from which one word, or a line that has ended, counts as repeated."""

_UNFINISHED_CHARS = 40
"""A longer text without a blank is no unfinished word."""

_BLOCK = re.compile(r"(?P<title>#{1,6} )|```")
"""The beginning of a heading or a fence."""

_ENTRY = re.compile(r"[-*+>] |\d{1,3}[.)] ")
"""The beginning of an entry of a list, or of a quotation."""

_MAY_BE_BLOCK = re.compile(r"[#`*+>\d-]")

_LONGEST_MARK_CHARS = 7

_ALIKE_CHARS = 4
"""The number of characters with which lines begin that are alike."""

_ENDS = (".", "!", "?", "…", ":", ";", ",", ")")


def beginning(stands: str) -> str:
    """The part of a visible text that a model is told as begun: its whole words, with the blank behind them; all of it
    where it has no blanks."""
    end = max(stands.rfind(" "), stands.rfind("\n")) + 1
    return stands if len(stands) - end > _UNFINISHED_CHARS else stands[:end]


class _Seam(Struct, frozen=True):
    """The way two texts meet: `before`, then the reply without its first `skipped` characters."""

    before: str
    skipped: int


class Joint:
    """A text of which `stands` was read, and the reply that comes after it. How the reply is cut makes no difference.

    `told`: the reply's author was asked to go on from the `beginning` of it. Else the reply is a message of its own:
    the same one, which then takes the place of the unfinished one, or another one, which comes below it.
    """

    def __init__(self, stands: str, *, told: bool) -> None:
        self._stands = stands
        self._told = told
        self._seam: _Seam | None = None
        self._behind = True
        self._alive: list[int] = []
        """The positions in what stands from which on the reply may say it again, in their order."""
        self._compared_chars = 0
        self._twice: dict[str, bool] = {}

    @property
    def is_behind(self) -> bool:
        """Whether nothing of the reply is new, as far as it was read."""
        return self._behind

    @property
    def met(self) -> bool:
        """Whether it is known how the two meet."""
        return self._seam is not None

    def text(self, reply: str, *, final: bool = False) -> str:
        """The whole text as far as it is sure; what stands, as long as the reply may be a repetition of it."""
        if self._seam is None:
            self._seam = self._met(reply, final=final) if self._told else self._repeated(reply, final=final)
        if self._seam is None:
            return self._stands
        text = self._seam.before + reply[self._seam.skipped :]
        self._behind = len(text) <= len(self._stands)
        return text if final or len(text) >= len(self._stands) else self._stands

    # -- a message of its own

    def _repeated(self, reply: str, *, final: bool) -> _Seam | None:
        last = self._stands.rpartition(_ANEW)[2]
        kept, last = self._stands[: len(self._stands) - len(last)], last.rstrip()
        body = reply.lstrip()
        lead, same = len(reply) - len(body), _common_chars(last, body)
        if same >= NEARLY_ALL * len(last):
            return _Seam(self._stands, len(reply)) if final and same == len(body) else _Seam(kept, lead)
        if same == len(body) and not final:
            return None
        return _Seam(self._stands.rstrip() + _ANEW, lead) if body else _Seam(self._stands, lead)

    # -- the rest of a message

    @cached_property
    def _core(self) -> str:
        return self._stands.rstrip()

    @cached_property
    def _gap(self) -> str:
        return self._stands[len(self._core) :]

    @cached_property
    def _word(self) -> int:
        """The position of the last word, which may be unfinished; the end where it is whole."""
        return min(len(beginning(self._stands)), len(self._core))

    def _met(self, reply: str, *, final: bool) -> _Seam | None:
        core, body = self._core, reply.lstrip()
        lead = reply[: len(reply) - len(body)]
        if not body:
            return _Seam(core, len(reply)) if final else None
        self._compare(body)
        for index, at in enumerate(self._alive):
            says = self._says_again(index, lead, body, final=final)
            if says is None:
                return None
            if says:
                end = len(lead) + len(core) - at
                return _Seam(self._stands, end + _common_chars(self._gap, reply[end:]))
        if final and self._alive[:1] == [0] and NEARLY_ALL * len(core) <= len(body) < len(core):
            return _Seam(core, len(reply))
        if self._is_anew_but_for_its_last_word(lead, body):
            return _Seam("", len(lead))
        parting = self._parting(lead, body, final=final)
        if parting is None:
            return None
        is_line = "\n" in self._gap + lead
        return _Seam(self._stands + parting, len(lead) if self._gap and not is_line else 0)

    def _compare(self, body: str) -> None:
        """Keep the positions from which on what stands is as the reply, up to the end of one of them."""
        core, known = self._core, self._compared_chars
        came, self._compared_chars = body[known:], len(body)
        found = [at for at in range(len(core)) if not core[at].isspace()] if not known else self._alive
        self._alive = [at for at in found if came.startswith(core[at + known : at + len(body)])]

    def _says_again(self, index: int, lead: str, body: str, *, final: bool) -> bool | None:
        """Whether the reply says again what stands from a position on; None while that is not known."""
        core, at = self._core, self._alive[index]
        said, after = core[at:], body[len(core) - at :]
        following = self._alive[index + 1] if index + 1 < len(self._alive) else len(core)
        leads_on = "\n" in lead or (bool(lead) and not self._gap)  # the blanks say that it goes on, and repeats nothing
        is_run = following - at <= min(len(body), len(core) - following)  # the same words come twice in a row there
        if at != self._word and (leads_on or is_run):
            return False
        if len(body) < len(said):
            return False if final else None
        if len(after) <= len(self._gap) and not final:
            return None
        if at == self._word:
            told = beginning(self._stands)
            return lead in ("", told[len(told.rstrip()) :])
        if not self._are_words(said, after):
            return False
        return self._is_once(core[at:following].strip(), body[following - at :].lstrip(), final=final)

    def _are_words(self, said: str, after: str) -> bool:
        """Whether it is several words that are repeated, more of them where a line has ended. The last one may be
        unfinished where no blank ends it."""
        is_whole = not (after[:1].isalnum() and said[-1].isalnum())
        if not any(map(str.isalnum, said)) or (self._gap and not is_whole):
            return False
        return len(said) >= _SURE_CHARS or (len(said.split()) > 1 and "\n" not in self._gap)

    def _is_once(self, words: str, follows: str, *, final: bool) -> bool | None:
        """Whether neither the text nor the reply has these words twice in a row: else they are no sign that a reply
        repeats what stands. None while that is not known."""
        if follows.startswith(words):
            return False
        if words not in self._twice:
            twice = rf"(?<!\w){re.escape(words)}\s*{re.escape(words)}(?!\w)"
            self._twice[words] = re.search(twice, self._core) is not None
        if self._twice[words]:
            return False
        return True if final or not words.startswith(follows) else None

    def _is_anew_but_for_its_last_word(self, lead: str, body: str) -> bool:
        """Whether a reply begins with all that its author was told, which is more than one line or sentence."""
        told = beginning(self._stands).rstrip()
        several = any(mark in told for mark in ("\n", ". ", "! ", "? ")) and self._word < len(self._core)
        return several and "\n" not in lead and body.startswith(told) and len(told) >= NEARLY_ALL * len(self._core)

    def _parting(self, lead: str, body: str, *, final: bool) -> str | None:
        """What comes between the text and a reply that goes on with it, where neither has blanks there. None while that
        is not known."""
        stands, first = self._stands, body[0]
        if "\n" in self._gap + lead or stands.count("```") % 2:
            return ""
        if not final and len(body) < (_LONGEST_MARK_CHARS if _MAY_BE_BLOCK.match(body) else _ALIKE_CHARS):
            return None
        if block := _BLOCK.match(body):
            return "\n\n" if block["title"] else "\n"
        if self._gap or lead:
            return ""
        if _ENTRY.match(body) and not (first.isdigit() and stands[-1].isdigit()):
            return "\n"
        if not first.isupper() or not (stands[-1].islower() or stands[-1].isdigit() or stands[-1] in _ENDS):
            return ""
        line = stands[stands.rfind("\n") + 1 :]
        return "\n" if body[:_ALIKE_CHARS] == line[:_ALIKE_CHARS] else " "


def _common_chars(one: str, other: str) -> int:
    count = min(len(one), len(other))
    return next((at for at in range(count) if one[at] != other[at]), count)
