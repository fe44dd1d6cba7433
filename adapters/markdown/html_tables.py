"""Tables in HTML as Markdown's. Pure.

What has no column there stands in the last one; a table in a cell is lines of it.
"""

from __future__ import annotations

import re

_ABOUT = r"(?:[ \t][^<>\n]*)?/?>"
_EDGE = re.compile(rf"<table{_ABOUT}|</table>|</tr>|(?:(?<=</tr>)|(?<=</tbody>))\s*(?=[^\s<])", re.IGNORECASE)
_INNER = re.compile(rf"<table{_ABOUT}((?:(?!</?table)[\s\S])*)</table>", re.IGNORECASE)
_ROW = re.compile(rf"</?(?:tr|thead|tbody|tfoot){_ABOUT}|<!--(?:(?!<!--)[^\n]){{0,2000}}?-->", re.IGNORECASE)
_CELL = re.compile(rf"<t([dh]){_ABOUT}", re.IGNORECASE)
_PRE = re.compile(rf"<pre{_ABOUT}((?:(?!<pre)[\s\S])*?)</pre>", re.IGNORECASE)
_CODE = re.compile(rf"<(/?)code{_ABOUT}", re.IGNORECASE)
_ITEM = re.compile(rf"<li{_ABOUT}", re.IGNORECASE)
_BREAKS = re.compile(
    rf"(?:</?(?:br|p|div|center|section|details|summary|h[1-6]|ul|ol|li|hr|blockquote|pre|t[dhr]|caption|colgroup|col"
    rf"|thead|tbody|tfoot|table){_ABOUT}[ \t\n]*)+",
    re.IGNORECASE,
)
_BAR = re.compile(r"(?<!\\)\|")


def table_ends(source: str, start: int, *, growing: bool) -> tuple[int, int]:
    """Where the last row ends that is certain of a table whose rows begin at `start`, and where the table does."""
    depth, rows = 1, start
    for found in _EDGE.finditer(source, start):
        tag = found[0][:4].casefold()
        depth += {"<tab": 1, "</ta": -1, "</tr": 0}.get(tag, -depth)
        rows = found.end() if depth == 1 and tag == "</tr" else rows
        if depth == 0:
            return found.start(), found.end()
    return rows if growing else len(source), len(source)


def rows_of(source: str) -> tuple[str, list[str]]:
    """The words above the rows of a table, and its lines. Without titles its head has no words."""
    above, lines, columns = "", list[str](), 0
    for row in _ROW.split(_INNER.sub(lambda inner: _BREAKS.sub("<br>", inner[0]), source)):
        begun, *parts = _CELL.split(_PRE.sub(_lines_of_code, row))
        cells = [_cell(part) for part in ([begun] if begun.strip() and (columns or parts) else []) + parts[1::2]]
        above += "" if cells else f"{_cell(begun)} "
        if cells and not columns:
            columns, rules = len(cells), _line(["---"] * len(cells))
            titled = "d" not in "".join(parts[::2]).casefold()
            lines = [_line(cells), rules] if titled else [_line([""] * columns), rules, _line(cells)]
        elif cells:
            lines.append(_line([*cells[: columns - 1], " ".join(cells[columns - 1 :])]))
    return above.strip(), lines


def _cell(source: str) -> str:
    text = _BREAKS.sub("<br>", _ITEM.sub("<br>• ", _CODE.sub(r"<\1code>", source)))
    text = " ".join(line.strip() for line in text.split("\n")).strip()
    return _BAR.sub(r"\\|", text.removeprefix("<br>").removesuffix("<br>").strip())


def _lines_of_code(found: re.Match[str]) -> str:
    lines = _CODE.sub("", found[1]).split("\n")
    return f"<br>{'<br>'.join(f'<code>{line}</code>' for line in lines if line.strip())}<br>"


def _line(cells: list[str]) -> str:
    return f"| {' | '.join(cells)} |"
