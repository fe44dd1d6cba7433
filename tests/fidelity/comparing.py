"""The same measure for libraries that others use, where they are installed: what a person sees of single blocks of
GitHub's Markdown. They are uncut and name nobody: both are left to whoever calls these libraries.
"""

import sys
from collections.abc import Callable
from functools import partial
from importlib import import_module

from adapters.telegram.codec.markup import Entity, RenderedText
from tests.fidelity import reading_discord, reading_slack, reading_telegram
from tests.fidelity.measuring import PLATFORMS, Score, Shown, score_of
from tests.fidelity.seen import Seen
from tests.fidelity.writing import Writer

_BULLET = "\u2981"
"""Theirs."""
Reader = Callable[[str], list[Seen]]


def _telegramify() -> Reader:
    convert = import_module("telegramify_markdown").convert

    def read(markdown: str) -> list[Seen]:
        text, entities = convert(markdown)
        known = [Entity(one.type, one.offset, one.length, one.url) for one in entities]
        shown = reading_telegram.read(RenderedText(text, tuple(known)))
        return [one for one in shown if one.char != _BULLET]

    return read


def _slackify() -> Reader:
    convert = import_module("slackify_markdown").slackify_markdown
    return lambda markdown: reading_slack.read(convert(markdown))


def _to_mrkdwn() -> Reader:
    converter = import_module("markdown_to_mrkdwn").SlackMarkdownConverter()
    return lambda markdown: reading_slack.read(converter.convert(markdown))


LIBRARIES: dict[str, Callable[[], Reader]] = {
    "Telegram, telegramify-markdown": _telegramify,
    "Slack, slackify-markdown": _slackify,
    "Slack, markdown-to-mrkdwn": _to_mrkdwn,
    "Discord, Markdown as it is": lambda: reading_discord.read,
}


def compared(read: Reader, seeds: range, *, signs: bool = True) -> Score:
    """The score of a library. What it cannot convert, or makes a ping, is seen by nobody."""
    score = Score()
    for seed in seeds:
        written = Writer(seed, quiet=True).document(1)
        try:
            shown = read(written.markdown)
        except Exception:  # noqa: BLE001 - a foreign library may raise anything
            shown = []
        score_of(score, seed, written, shown, signs=signs)
    return score


def _alone(platform: Shown, text: str) -> list[Seen]:
    [shown] = platform.read([text])
    return shown


def main(seeds: range) -> None:
    print("\n| single blocks | text | code | links | emphasis |\n| --- | --- | --- | --- | --- |")  # noqa: T201
    for name, platform in PLATFORMS.items():
        score = compared(partial(_alone, platform), seeds, signs=platform.signs)
        print(score.row(f"{name}, Parley", steady=False))  # noqa: T201
    for name, opened in LIBRARIES.items():
        try:
            read = opened()
        except ImportError:
            print(f"| {name} | not installed | | | |")  # noqa: T201
            continue
        score = compared(read, seeds)
        print(score.row(name, steady=False))  # noqa: T201
        for seed, how in score.differing[:3]:
            print(f"    {seed}: {how}", file=sys.stderr)  # noqa: T201


if __name__ == "__main__":
    main(range(int(sys.argv[1]) if len(sys.argv) > 1 else 1000))
