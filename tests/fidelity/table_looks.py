"""How a person may see a table: as one, as lines of code, or as a list of its rows under the names of the columns."""

from itertools import zip_longest

from tests.fidelity.seen import Seen, seen

Cell = tuple[str, list[list[Seen]]]
"""The Markdown of a cell, and what is seen of it, line by line."""


def rows_seen(head: list[Cell], rows: list[list[Cell]]) -> list[list[list[Seen]]]:
    """The ways in which each row may be seen. The head stands above the first one, and again on each page."""
    found = []
    for number, row in enumerate(rows):
        grid, code = _plain(row), _coded(row)
        headed = (
            [_plain(head) + grid, _coded(head) + seen("-", "c") + code]
            if any(name for name, _ in head)
            else [grid, code]
        )
        found.append([_listed(head, row), *headed, *([grid, code] if number else [])])
    return found


def _plain(row: list[Cell]) -> list[Seen]:
    return [one for _, lines in row for line in lines for one in line]


def _coded(row: list[Cell]) -> list[Seen]:
    """As lines of code, which show no emphasis."""
    found: list[Seen] = []
    for lines in zip_longest(*(lines for _, lines in row), fillvalue=list[Seen]()):
        for number, line in enumerate(lines):
            found += seen("|" if number else "", "c") + [Seen(one.char, one.looks | {"c"}, one.target) for one in line]
    return found


def _listed(head: list[Cell], row: list[Cell]) -> list[Seen]:
    found: list[Seen] = []
    for number, (name, cell) in enumerate(zip(head, row, strict=True)):
        if number == 0 or cell[0]:
            found += (_plain([name]) + seen(":") if name[0] else []) + _plain([cell])
    return found
