"""The thoughts that some models write before their answer, which are no part of it.

Providers keep them apart from the text. Servers that do not know a form send them as text, between `<think>` and
`</think>`, or between the marks of another form; without the first one, where it stands in the prompt.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

_FORMS: Mapping[str, str] = {
    **{f"<{name}>": f"</{name}>" for name in ("think", "thinking", "thought", "reasoning", "mm:think")},
    "[think]": "[/think]",
    "\u25c1think\u25b7": "\u25c1/think\u25b7",
    "<|channel>": "<channel|>",
}
"""How thoughts begin, and how they end."""
_QUOTES = "`'\"\u2018\u201c\u00ab"


class ThoughtHabit:
    """What is known of the way in which one model thinks."""

    def __init__(self, marks: tuple[str, str] | None = None) -> None:
        """`marks` are those of the settings: how a thought begins, "" where answers begin in one, and how it ends."""
        self._forms = {**_FORMS, **({marks[0].casefold(): marks[1]} if marks else {})}
        self._always = "" in self._forms
        self._begun = self._always

    def thoughts(self) -> Thoughts:
        """A reader for one answer."""
        return Thoughts(self._forms, begun=self._begun)

    def heard(self, thoughts: Thoughts, *, whole: bool) -> None:
        """Expect of the next answer what this one did: one that ended a thought which it had not begun is followed by
        others. A `whole` answer without a thought ends that.
        """
        if not self._always and (whole or thoughts.unopened):
            self._begun = thoughts.unopened


class Thoughts:
    """Leaves out the thoughts of an answer that comes in pieces. How it was cut makes no difference.

    Of thoughts that were begun, those before the answer are left out; what stands in the middle of it stays. A thought
    that ends without having begun has been shown, unless `begun` says that the answer begins in one; then its mark
    alone is left out, because what people have seen stays.
    """

    def __init__(self, forms: Mapping[str, str] = _FORMS, *, begun: bool = False) -> None:
        self._forms = forms
        self._opened = _any_of(opening for opening in forms if opening)
        self._closed = _any_of(dict.fromkeys(forms.values()))
        self._marks = [*forms, *forms.values()]
        self._longest = max(map(len, self._marks))
        self._held = ""
        self._closing = self._closed if begun else None
        self._begun = begun
        self._thought = False
        self._over = False
        self._shown = ""
        self._break = ""
        self.unopened = False
        """Whether a thought has ended that had not begun."""

    def without(self, piece: str) -> str:
        """The text of the answer that a piece adds."""
        self._held += piece
        if self._over:
            return self._rest(whole=False)
        while self._passed():
            pass
        begun = self._held.lstrip()
        if self._closing is not None or not begun or self._may_begin(begun):
            return ""
        return self._answer(whole=False)

    def end(self) -> str:
        """The text that was held back, once the answer is complete."""
        if self._closing is not None and not self._begun:
            return ""
        return self._rest(whole=True) if self._over else self._answer(whole=True)

    def _passed(self) -> bool:
        """Pass over the mark with which the rest begins, or over its thought; False if there is none or no end."""
        begun = self._held.lstrip()
        if self._closing is None or self._begun:
            opened = self._opened.match(begun)
            if opened is not None:
                self._held, self._thought, self._begun = begun[opened.end() :], True, False
                self._closing = _any_of([self._forms[opened[0].casefold()]])
            elif self._closing is None or self._may_begin(begun):
                return False
        assert self._closing is not None
        closed = self._closing.search(self._held)
        if closed is None:
            if not self._begun:
                self._held = self._held[-self._longest :]  # the beginning of the closing mark may be there
            return False
        self.unopened = self.unopened or self._begun
        self._held, self._closing, self._begun, self._thought = self._held[closed.end() :], None, False, True
        return True

    def _answer(self, *, whole: bool) -> str:
        self._over = True
        if self._thought:
            self._held = self._break + self._held.lstrip() if self._held.strip() else ""
        return self._rest(whole=whole)

    def _rest(self, *, whole: bool) -> str:
        """What is held of the answer, without the mark of a thought that ends in it; its end may be a part of one."""
        text, self._held = self._held, ""
        if self._thought:
            return text
        closed = self._closed.search(text)
        if closed is not None:
            return self._without_mark(text, closed)
        if not whole:
            ends = range(max(0, len(text) - self._longest), len(text))
            at = next((at for at in ends if self._may_end(text[at:])), len(text))
            text, self._held = text[:at], text[at:]
        self._shown += text
        return text

    def _without_mark(self, text: str, closed: re.Match[str]) -> str:
        """A text in which a closing mark is found, the only one that is looked for; a paragraph ends in its place."""
        before, self._thought = text[: closed.start()], True
        self.unopened = not self._is_said(self._shown + before)
        if not self.unopened:
            return text
        shown, self._held, self._over = self._shown + before, text[closed.end() :], False
        self._break = "\n" * max(0, 2 - len(shown) + len(shown.rstrip("\n")))
        return before + self.without("")

    def _is_said(self, before: str) -> bool:
        """Whether a closing mark behind this text is said: in code, quoted, or after an opening one."""
        line = before[before.rfind("\n") + 1 :]
        in_code = before.count("```") % 2 == 1 or line.count("`") % 2 == 1
        return in_code or line.endswith(tuple(_QUOTES)) or self._opened.search(before) is not None

    def _may_begin(self, text: str) -> bool:
        return any(mark.startswith(text.casefold()) for mark in self._forms)

    def _may_end(self, text: str) -> bool:
        return any(mark.startswith(text.casefold()) for mark in self._forms.values())


def _any_of(marks: Iterable[str]) -> re.Pattern[str]:
    return re.compile("|".join(map(re.escape, marks)), re.IGNORECASE | re.ASCII)
