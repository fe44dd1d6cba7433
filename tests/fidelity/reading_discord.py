"""What a person sees of a message on Discord (help centre, Markdown Text 101; masked links; angle brackets around an
address take its preview away). What has no width is not seen.
"""

import re

from tests.fidelity.seen import NAME, PERSON, Seen, seen

_BLOCK = re.compile(r"```(?:[a-z0-9_+.#-]+\n)?\n*([^\n].*?)\n*```", re.DOTALL | re.IGNORECASE)
_QUOTE = re.compile(r"(?:^ *> +[^\n]*\n?)+", re.MULTILINE)
_RULES = (
    ("escape", re.compile(r"\\([^0-9A-Za-z\s])")),
    ("code", re.compile(r"(?!```)(`+)( (?= *`))?([\s\S]*?[^`])\1(?!`)")),
    ("link", re.compile(r"\[((?:\\.|[^\[\]])+)\]\(<?(https?://(?:[^\s<>()]|\([^\s<>()]*\))+)>?\)")),
    ("person", re.compile(r"<@7>")),
    ("framed", re.compile(r"<(https?://[^\s<>]+)>")),
    ("address", re.compile(r"https?://[^\s<]+[^<.,:;\"'\]\s]")),
    ("b", re.compile(r"\*\*((?:\\[\s\S]|[^\\])+?)\*\*(?!\*)")),
    ("u", re.compile(r"__((?:\\[\s\S]|[^\\])+?)__(?!_)")),
    ("s", re.compile(r"~~((?:\\[\s\S]|[^\\])+?)~~")),
    ("i", re.compile(r"\*(?=\S)((?:\*\*|\\[\s\S]|\s+(?:\\[\s\S]|[^\s*\\]|\*\*)|[^\s*\\])+?)\*(?!\*)")),
    ("i", re.compile(r"(?<!\w)_((?:__|\\[\s\S]|[^\\_])+?)_(?!\w)")),
)


def read(message: str) -> list[Seen]:
    shown: list[Seen] = []
    at = 0
    while at < len(message):
        quote, block = _QUOTE.search(message, at), _BLOCK.search(message, at)
        found = min(filter(None, (quote, block)), key=lambda one: one.start(), default=None)
        shown += _prose(message[at : found.start() if found else None])
        if found is not None and found is quote:
            shown += read(re.sub(r"^ *> ?", "", quote[0], flags=re.MULTILINE))
        elif found is not None:
            shown += seen(found[1].replace("\u200b", ""), "c")
        at = found.end() if found else len(message)
    return shown


def _prose(text: str) -> list[Seen]:
    lines = [re.sub(r"^[ ]*(?:- )?", "", line) for line in text.split("\n")]
    shown: list[Seen] = []
    for heading, group in _groups(lines):
        shown += _inline(group, "b" if heading else "", None)
    return shown


def _groups(lines: list[str]) -> list[tuple[bool, str]]:
    found: list[tuple[bool, str]] = []
    for line in lines:
        heading = re.match(r"#{1,3} ", line)
        if heading or not found or found[-1][0]:
            found.append((bool(heading), line[heading.end() :] if heading else line))
        else:
            found[-1] = (False, f"{found[-1][1]}\n{line}")
    return found


def _inline(text: str, looks: str, target: str | None) -> list[Seen]:
    bare = re.sub(r"`[^`]*`|https?://\S+|\\<", "", text)
    assert not re.search(r"@(?:everyone|here)\b|<@(?!7>)[!&]?\d+>|<#\d+>", bare), "it pings"
    shown: list[Seen] = []
    at = 0
    while at < len(text):
        kind, found = next(((k, m) for k, rule in _RULES if (m := rule.match(text, at))), ("", None))
        if found is None:
            shown += seen(text[at], looks, target)
            at += 1
            continue
        at = found.end()
        if kind == "person":
            shown += seen(f"@{NAME}", looks, PERSON)
        elif kind == "escape":
            shown += seen(found[1], looks, target)
        elif kind == "code":
            shown += seen(re.sub(r"(` *) $", r"\1", found[3]), looks + "c", target)
        elif kind == "link":
            shown += _inline(found[1], looks, found[2])
        elif kind in ("framed", "address"):
            address = found[0].strip("<>")
            while address.endswith(")") and address.count(")") > address.count("("):
                address, at = address[:-1], at - 1
            shown += seen(address, looks, address)
        else:
            shown += _inline(found[1], looks + kind, target)
    return shown
