"""How much of random texts a person sees as it was meant, on each platform."""

from __future__ import annotations

import random
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from urllib.parse import unquote

from adapters.capabilities import Capabilities
from adapters.discord.codec.markup import render as discord
from adapters.discord.limits import CAPABILITIES as DISCORD
from adapters.markdown.closing import close_open
from adapters.markdown.paging import cut_pages
from adapters.markdown.text_length import measure_of
from adapters.slack.codec.markup import render as slack
from adapters.slack.codec.mentions import certain, harmless
from adapters.slack.limits import CAPABILITIES as SLACK
from adapters.telegram.codec.markup import render as telegram
from adapters.telegram.limits import CAPABILITIES as TELEGRAM
from tests.fidelity import reading_discord, reading_slack, reading_telegram
from tests.fidelity.seen import Seen, code, equal_looks, targets, words
from tests.fidelity.writing import Writer

PLATFORMS: dict[str, tuple[Capabilities, Callable[[str], list[Seen]]]] = {
    "Telegram": (TELEGRAM, lambda text: reading_telegram.read(telegram(text))),
    "Slack, posts": (SLACK, lambda text: reading_slack.read(slack(text, 10**6))),
    "Discord": (DISCORD, lambda text: reading_discord.read(discord(text))),
}


@dataclass(slots=True)
class Score:
    """Counts of texts that are as they were meant, and of characters with the right emphasis; and what differs."""

    texts: int = 0
    text: int = 0
    code: int = 0
    links: int = 0
    characters: int = 0
    looks: int = 0
    steady: int = 0
    differing: list[tuple[int, str]] = field(default_factory=list)

    def row(self, name: str) -> str:
        parts = [self.text, self.code, self.links, self.steady]
        text, codes, links, steady = (f"{100 * part / self.texts:.2f} %" for part in parts)
        return f"| {name} | {text} | {codes} | {links} | {100 * self.looks / self.characters:.2f} % | {steady} |"


def measured(name: str, seeds: range) -> Score:
    """Texts of these seeds, cut into pages of random length up to the platform's, and read."""
    capabilities, shown_of = PLATFORMS[name]
    score = Score()
    for seed in seeds:
        written = Writer(seed).document()
        chance = random.Random(seed)
        limit = chance.choice([capabilities.max_text, 900, 500])
        unit = measure_of(capabilities.text_unit)
        cuts = cut_pages(written.markdown, limit, unit, max_pieces=capabilities.max_pieces)
        shown = [one for cut in cuts for one in shown_of(cut.text)]
        score.texts += 1
        same = (
            words(shown) == words(written.meant),
            code(shown) == code(written.meant),
            targets(shown) == targets(written.meant),
        )
        score.text, score.code, score.links = (
            total + part for total, part in zip((score.text, score.code, score.links), same, strict=True)
        )
        score.characters += len(written.meant)
        score.looks += equal_looks(shown, written.meant) if same[0] else 0
        if not all(same):
            score.differing.append((seed, _difference(shown, written.meant)))
        end = chance.randrange(len(written.markdown) + 1)
        growing = cut_pages(written.markdown[:end], limit, unit, growing=True, max_pieces=capabilities.max_pieces)
        begun = "".join(words(shown_of(close_open(cut.text))) for cut in growing)
        score.steady += words(shown).startswith(begun)
    return score


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
        text, chance = Writer(seed).document().markdown, random.Random(seed)
        shown, sent = "", 0
        for end in sorted(chance.sample(range(len(text) + 1), min(len(text), 12))):
            until = max(sent, certain(text[:end]))
            shown, sent = shown + harmless(text[:until], "T1", sent), until
        whole += shown + harmless(text, "T1", sent) == text
    return whole


def main() -> None:
    seeds = range(int(sys.argv[1]) if len(sys.argv) > 1 else 5000)
    print("| platform | text | code | links | emphasis | a beginning stays |\n| --- | --- | --- | --- | --- | --- |")  # noqa: T201
    for name in PLATFORMS:
        score = measured(name, seeds)
        print(score.row(name))  # noqa: T201
        for seed, how in score.differing[:12]:
            print(f"    {seed}: {how}", file=sys.stderr)  # noqa: T201
    part = f"{100 * streamed(seeds) / len(seeds):.2f} %"
    print(f"| Slack, streams | {part} | {part} | {part} | Slack's own | {part} |")  # noqa: T201


if __name__ == "__main__":
    main()
