"""Whether people saw what they must: every sentence once, whole and in order, and nothing else."""

import re
from collections.abc import Sequence

from msgspec import Struct

from tests.chaos.places import Shown

_CHOSEN = re.compile(r"\s*\n✓\s[^\n]+\Z")
"""What was chosen, in the place of a question's choices. Like these it may be lost. Telegram may have a hard space in a
text that is written once more."""


class Verdict(Struct, frozen=True):
    """`missing` sentences are still to come, `strange` is what nobody should see; `orphans` are copies, or beginnings,
    of a sentence that stands there once as well."""

    missing: tuple[str, ...] = ()
    strange: tuple[str, ...] = ()
    orphans: int = 0
    growing: tuple[str, ...] = ()
    choices: tuple[str, ...] = ()

    @property
    def settled(self) -> bool:
        """Whether nothing is to come, and nothing is left unfinished."""
        return not (self.missing or self.growing or self.choices)


def judge(
    shown: Sequence[Shown], expected: Sequence[str], speakers: Sequence[str], *, asks_on: bool = False
) -> Verdict:
    """Compare what is shown with what was to be said. What a platform does with Markdown and names does not count.

    `asks_on`: the program ends what it says with a question that stays open."""
    wanted = [plain(text) for text in expected]
    seen = [_without_speaker(_CHOSEN.sub("", one.text), speakers, wanted) for one in shown]
    due = 0
    orphans = 0
    strange: list[str] = []
    for index, text in enumerate(seen):
        if due < len(wanted) and text == wanted[due] and not _comes_again(seen[index + 1 :], wanted, due):
            due += 1
        elif _is_copy(text, wanted[max(0, due - 1) : due + 1]):
            orphans += 1
        else:
            strange.append(shown[index].text)
    return Verdict(
        tuple(expected[due:]),
        tuple(strange),
        orphans,
        tuple(one.text for one in shown if one.growing),
        tuple(choice for one in (shown[:-1] if asks_on else shown) for choice in one.choices),
    )


def taken_back(before: Sequence[Shown], now: Sequence[Shown]) -> list[str]:
    """What people had read and then saw no more than a beginning of."""
    old, new = [plain(one.text) for one in before], [plain(one.text) for one in now]
    shrunk = [text for text in new if text and text not in old]
    return [
        before[index].text
        for index, text in enumerate(old)
        if not any(one.startswith(text) for one in new) and any(text.startswith(one) for one in shrunk)
    ]


def plain(text: str) -> str:
    """Letters and digits only, in lower case."""
    return re.sub(r"[\W_]+", "", text.casefold())


def _without_speaker(text: str, speakers: Sequence[str], wanted: Sequence[str]) -> str:
    shown = plain(text)
    if shown in wanted:
        return shown
    for speaker in speakers:
        name = plain(speaker)
        if shown.startswith(name):
            return shown.removeprefix(name)
    return shown


def _comes_again(later: Sequence[str], wanted: Sequence[str], due: int) -> bool:
    """Whether this copy is the orphan: the same text stands further below, where one is expected only."""
    return wanted.count(wanted[due]) == 1 and wanted[due] in later


def _is_copy(text: str, around: Sequence[str]) -> bool:
    return bool(text) and any(sentence.startswith(text) for sentence in around)
