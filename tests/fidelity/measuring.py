"""How much of random texts a person sees as it was meant, on each platform."""

import random
import re
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from urllib.parse import unquote

from msgspec import Struct, field

from adapters.capabilities import Capabilities, measure_of
from adapters.discord.codec.addresses import render as discord
from adapters.discord.limits import CAPABILITIES as DISCORD
from adapters.markdown.closing import close_open
from adapters.markdown.html_blocks import html_as_markdown
from adapters.markdown.mentions import with_mentions
from adapters.markdown.paging import cut_pages
from adapters.slack.codec.addresses import blocks_of
from adapters.slack.codec.mentions import certain, harmless
from adapters.slack.limits import CAPABILITIES as SLACK
from adapters.telegram.codec.markup import RenderedPage
from adapters.telegram.codec.markup import render as telegram
from adapters.telegram.limits import CAPABILITIES as TELEGRAM
from adapters.web.adapter import CAPABILITIES as WEB
from tests.fidelity import reading_discord, reading_slack, reading_telegram, reading_web
from tests.fidelity.seen import NAME, Seen, code, equal_looks, targets, without_rules, words
from tests.fidelity.writing import Writer

_CODE = re.compile(r"```.*?```|`[^`\n]*`", re.DOTALL)
_PINGS = re.compile(r"<(?:[@#][UC]|!channel)|(?<!\w)@(?:here|everyone)\b")


class Shown(Struct, frozen=True):
    """A platform: its limits, how Ada Lovelace is known there, and what a person sees of each page.

    `signs`: formulas stand between their signs.
    """

    capabilities: Capabilities
    person: str
    read: Callable[[Sequence[str]], list[list[Seen]]]
    signs: bool = True


def _each(read: Callable[[str], list[Seen]]) -> Callable[[Sequence[str]], list[list[Seen]]]:
    return lambda pages: [read(page) for page in pages]


def _rich(text: str) -> list[Seen]:
    source = RenderedPage(text).rich()
    return reading_telegram.read(telegram(text)) if source is None else reading_telegram.read_rich(source)


PLATFORMS: dict[str, Shown] = {
    "Telegram": Shown(TELEGRAM, "telegram:42", _each(lambda text: reading_telegram.read(telegram(text)))),
    "Telegram, rich": Shown(TELEGRAM, "telegram:42", _each(_rich), signs=False),
    "Slack, posts": Shown(
        SLACK, "slack:T1:U1", _each(lambda text: reading_slack.read_blocks(blocks_of(text, None, tables=True)))
    ),
    "Discord": Shown(DISCORD, "discord:7", _each(lambda text: reading_discord.read(discord(text)))),
}


class Score(Struct):
    """Counts of texts that are as they were meant, and of characters with the right emphasis; and what differs."""

    texts: int = 0
    text: int = 0
    code: int = 0
    links: int = 0
    characters: int = 0
    looks: int = 0
    begun: int = 0
    steady: int = 0
    differing: list[tuple[int, str]] = field(default_factory=list)
    regrouped: list[int] = field(default_factory=list)
    """The texts of which a beginning does not stay."""

    def row(self, name: str, *, steady: bool = True) -> str:
        """A line of the table; `steady` with how many beginnings stay."""
        text, code, links, stays = (
            f"{100 * part / (of or 1):.2f} %"
            for part, of in (
                *((one, self.texts) for one in (self.text, self.code, self.links)),
                (self.steady, self.begun),
            )
        )
        looks = f"{100 * self.looks / self.characters:.2f} %"
        return f"| {name} | {text} | {code} | {links} | {looks} |" + (f" {stays} |" if steady else "")


@contextmanager
def web_page() -> Iterator[Shown]:
    """The page of the web chat in a browser, as a platform."""
    with reading_web.opened() as read:
        yield Shown(WEB, "web:1", read, signs=False)


def measured(platform: Shown, seeds: Sequence[int]) -> Score:
    """Texts of these seeds, cut into pages of random length up to the platform's, and read; a hundred at once."""
    score = Score()
    for at in range(0, len(seeds), 100):
        cases = [_case(platform, seed) for seed in seeds[at : at + 100]]
        read = iter(platform.read([text for case in cases for text in (*case.pages, *case.begun)]))
        for case in cases:
            shown, begun = ([one for _ in pages for one in next(read)] for pages in (case.pages, case.begun))
            score_of(score, case.seed, case.written, shown, signs=platform.signs)
            stays = words(without_rules(shown)).startswith(words(without_rules(begun)))
            score.begun += not case.written.refers
            score.steady += stays and not case.written.refers
            score.regrouped += [] if stays or case.written.refers else [case.seed]
    return score


def cut_everywhere(platform: Shown, written: Writer, least: int) -> Score:
    """The score of a text that is cut at every limit from `least`, and what its rows and head need, to its length.
    Pages that come again are read once.
    """
    rows = [line for line in html_as_markdown(written.markdown).split("\n") if line.startswith("|")]
    head = len("".join(rows[:2]))
    least = max(least, 4 * head + 8, *(head + 2 * len(row) for row in rows))
    unit, text = measure_of(platform.capabilities.text_unit), with_mentions(written.markdown, {NAME: platform.person})
    cuts = {
        tuple(cut.text for cut in cut_pages(text, limit, unit, max_pieces=platform.capabilities.max_pieces)): limit
        for limit in range(unit(text), least - 1, -1)
    }
    pages = sorted({page for one in cuts for page in one})
    read = dict(zip(pages, platform.read(pages), strict=True))
    score = Score()
    for one, limit in cuts.items():
        score_of(score, limit, written, [char for page in one for char in read[page]], signs=platform.signs)
    return score


class _Case(Struct, frozen=True):
    """A text, its pages, and those of a random beginning of it."""

    seed: int
    written: Writer
    pages: list[str]
    begun: list[str]


def _case(platform: Shown, seed: int) -> _Case:
    most, unit = platform.capabilities.max_text, measure_of(platform.capabilities.text_unit)
    people, pieces = {NAME: platform.person}, platform.capabilities.max_pieces
    written, chance = Writer(seed).document(), random.Random(seed)
    limit = chance.choice([most, chance.randint(400, most), 900, 500])
    cuts = cut_pages(with_mentions(written.markdown, people), limit, unit, max_pieces=pieces)
    end = chance.randrange(len(written.markdown) + 1)
    begun = with_mentions(written.markdown[:end], people, growing=True)
    growing = cut_pages(begun, limit, unit, growing=True, max_pieces=pieces)
    pages = [*(cut.text for cut in growing[:-1]), *(close_open(cut.text) for cut in growing[-1:])]
    return _Case(seed, written, [cut.text for cut in cuts], pages)


def score_of(score: Score, seed: int, written: Writer, read: list[Seen], *, signs: bool) -> None:
    """Count a text that is seen so. `signs`: formulas stand between their signs."""
    shown = without_rules(read)
    meant = _meant(written, shown, signs=signs)
    score.texts += 1
    same = (words(shown) == words(meant), code(shown) == code(meant), targets(shown) == targets(meant))
    score.text, score.code, score.links = (
        total + part for total, part in zip((score.text, score.code, score.links), same, strict=True)
    )
    score.characters += len(meant)
    score.looks += equal_looks(shown, meant)
    if not all(same):
        score.differing.append((seed, _difference(shown, meant)))


def _meant(written: Writer, shown: list[Seen], *, signs: bool) -> list[Seen]:
    """What should be seen: of each part that may be seen in several ways the one that is, the longest that fits."""
    seen_words, meant = words(shown), list[Seen]()
    for part in written.parts:
        ways = [[one for one in way if signs or "d" not in one.looks] for way in part]
        fitting = [way for way in ways if seen_words.startswith(words(way), len(meant))]
        near = shown[len(meant) :]
        nearest: list[Seen] = max(fitting or ways[:1], key=lambda way: (len(way), _agreement(way, near)))
        meant += nearest
    return meant


def _agreement(way: list[Seen], shown: list[Seen]) -> tuple[int, int]:
    """How many characters are code as they are meant, and how many have the emphasis."""
    coded = sum(("c" in one.looks) == ("c" in two.looks) for one, two in zip(way, shown, strict=False))
    return coded, equal_looks(shown, way)


def _difference(shown: list[Seen], meant: list[Seen]) -> str:
    at = next(
        (
            at
            for at, (one, two) in enumerate(zip(shown, meant, strict=False))
            if (one.char, one.target and unquote(one.target), "c" in one.looks)
            != (two.char, two.target and unquote(two.target), "c" in two.looks)
        ),
        0,
    )
    return f"…{words(shown[max(0, at - 9) : at + 30])!r} instead of {words(meant[max(0, at - 9) : at + 30])!r}"


def streamed(seeds: range) -> int:
    """How many texts come whole through a native stream of Slack's, which reads Markdown itself, in random pieces."""
    whole = 0
    for seed in seeds:
        text, chance = html_as_markdown(Writer(seed).document().markdown), random.Random(seed)
        shown, sent = "", 0
        for end in sorted(chance.sample(range(len(text) + 1), min(len(text), 12))):
            until = max(sent, certain(text[:end]))
            shown, sent = shown + harmless(text[:until], "T1", sent), until
        shown += harmless(text, "T1", sent)
        assert not _PINGS.search(_CODE.sub("", shown)), "it pings"
        whole += shown.replace("\u200b", "") == text
    return whole


def main() -> None:
    seeds = range(int(sys.argv[1]) if len(sys.argv) > 1 else 5000)
    print("| platform | text | code | links | emphasis | a beginning stays |\n| --- | --- | --- | --- | --- | --- |")  # noqa: T201
    with web_page() as page:
        for name, platform in {**PLATFORMS, "Web page": page}.items():
            score = measured(platform, seeds)
            print(score.row(name))  # noqa: T201
            for seed, how in score.differing[:12]:
                print(f"    {seed}: {how}", file=sys.stderr)  # noqa: T201
    part = f"{100 * streamed(seeds) / len(seeds):.2f} %"
    print(f"| Slack, streams | {part} | {part} | {part} | Slack's own | {part} |")  # noqa: T201


if __name__ == "__main__":
    main()
