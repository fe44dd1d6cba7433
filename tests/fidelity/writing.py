"""Random texts as models write them, each with what a person should see of it."""

from __future__ import annotations

import random
from html import escape

from msgspec.structs import replace

from tests.fidelity.seen import NAME, PERSON, Seen, seen
from tests.fidelity.table_looks import Cell, rows_seen

PINGS = ("@here", "@everyone", "@bob", "<@U0BOB>", "<!channel>", "<@&12>", "<#C12>")
WORDS = [
    *("plain", "words", "naïve", "snake_case", "don't", "2*3*4", "a < b", "R&D", "x = 1", "$5", "C#", "~5", "~5~"),
    *PINGS,
    *("a==b", "||x||", "שלום עולם"),
    *(
        "代码",
        "请重启",
        "強調",
        "です",
        "한국어",
        "שלום",
        "مرحبا",
        "👨\u200d👩\u200d👧",
        "🇩🇪",
        "1️⃣",
        "क्षि",
        "cafe\u0301",
    ),
]
EMPHASISED = ["fat", "two words", "開源：", "「強調」", "注意！", "שלום", "👍🏽", "naïve (so)"]
FORMULAS = ["$x*y$", "$u_1*v_2$", r"\(a*b\)", "$$E=mc^2$$", r"\[x_1\]"]
CODES = ["a*b", "__init__", "<!DOCTYPE html>", "x | y", "'@here/sdk'", "名前 = 1", "$HOME"]
ADDRESSES = [
    *("https://e.org/_x_/y", "https://www.youtube.com/@handle/videos", "https://en.wikipedia.org/wiki/Foo_(bar)"),
    *("https://e.org/a?b=1&c=2", "https://e.org/中文", "https://e.org/a_[b]"),
]
LONG = "https://e.org/" + "long/" * 40
NESTED = [
    ("***", [("naïve 代码", "bi")], "***"),
    ("**", [("two ", "b"), ("*fat*", "bi"), (" words", "b")], "**"),
    ("*", [("two ", "i"), ("**fat**", "bi"), (" words", "i")], "*"),
    ("~~", [("**gone**", "bs")], "~~"),
    ("**", [("see ", "b"), ("`a*b`", "bc")], "**"),
    ("_", [("so ", "i"), ("**「強調」**", "bi")], "_"),
]
"""Marks in marks: of each piece what is written, and how it looks."""
AFTER = ["", "", "", ".", ",", "，", "。", "！"]
MARKS = {"**": "b", "__": "b", "*": "i", "_": "i", "~~": "s"}


class Writer:
    """Writes one text, and what should be seen of it."""

    def __init__(self, seed: int, *, quiet: bool = False) -> None:
        """A `quiet` one names nobody and is GitHub's Markdown: without formulas, tags, other links and brackets."""
        self._words = [word for word in WORDS if not quiet or word not in PINGS]
        self._quiet, self._seed, self._long = quiet, seed, [LONG]
        self._addresses = [address for address in ADDRESSES if not quiet or "[" not in address]
        self._labels = ["label", "the docs" if quiet else "the [docs] of_it", "文档"]
        self._chance = random.Random(seed)
        self._has_references = not quiet and self._chance.random() < 0.2
        self._definitions = list[tuple[str, str]]()
        self.markdown = ""
        self.parts: list[list[list[Seen]]] = [[[]]]
        """What should be seen, part by part, each in one of several ways; those of a row of a table are alike."""

    def document(self, most: int = 7) -> Writer:
        """Write at most so many blocks."""
        before = self._paragraph
        more = [self._tagged, self._nested, self._rule, self._tasks, self._underlined, self._note, self._table_of_html]
        for number in range(self._chance.randint(1, most)):
            self._put("\n\n" if number else "")
            blocks = [self._paragraph, self._heading, self._list, self._code, self._quote, self._table]
            block = self._chance.choice(blocks if self._quiet else [*blocks, *more])
            before = self._paragraph if block == before else block
            before()
        return self.defined()

    def dense(self) -> Writer:
        """Write one block of each kind in turn, small enough to be cut everywhere."""
        kinds = [
            *(
                self._paragraph,
                self._list,
                self._tasks,
                self._note,
                self._underlined,
                self._quote,
                self._table,
                self._code,
            ),
            *(self._table_of_html, self._tagged),
        ]
        self._long = []
        kinds[self._seed % len(kinds)]()
        for _ in range(3):
            self._put("\n\n")
            self._line()
        return self.defined()

    def defined(self) -> Writer:
        """Write the targets of references, which are seen where no link of the same message uses them."""
        for number, (label, address) in enumerate(self._definitions):
            self._put("\n" if number else "\n\n")
            self.markdown += f"[{label}]: {address}"
            self.parts.append([[], seen(f"[{label}]: ") + seen(address, "", address)])
        return self

    @property
    def refers(self) -> bool:
        """Whether what is meant is known at its end."""
        return bool(self._definitions)

    def _put(self, markdown: str, shown: str | None = None, looks: str = "", target: str | None = None) -> None:
        self.markdown += markdown
        if len(self.parts[-1]) > 1:
            self.parts.append([[]])
        self.parts[-1][0] += seen("" if shown is None else shown, looks, target)

    def _paragraph(self) -> None:
        for number in range(self._chance.randint(1, 4)):
            self._put("\n" if self._quiet else self._chance.choice(["\n", "\n", "  \n", "\\\n"]) if number else "")
            self._line()

    def _line(self, looks: str = "") -> None:
        for number in range(self._chance.randint(2, 9)):
            self._put(" " if number else "")
            part = self._chance.random()
            if part < 0.5:
                word = self._chance.choice(self._words)
                self._put(word, word, looks)
            else:
                self._special(part, looks)

    def _special(self, part: float, looks: str) -> None:
        part = min(part, 0.94) if self._quiet else part
        if part < 0.66:
            self._emphasis(looks)
        elif part < 0.75:
            code = self._chance.choice(CODES)
            self._put(f"`{code}`", code, "c" + looks)
        elif part < 0.83:
            address, after = self._chance.choice(self._addresses), self._chance.choice(AFTER)
            self._put(address, address, looks, address)
            self._put(after, after, looks)
        elif part < 0.95:
            self._link(looks)
        elif part < 0.98:
            formula = self._chance.choice(FORMULAS)
            size = 1 if formula.startswith("$") and not formula.startswith("$$") else 2
            self._put(formula[:size], formula[:size], "d" + looks)
            self._put(formula[size:-size], formula[size:-size], looks)
            self._put(formula[-size:], formula[-size:], "d" + looks)
        else:
            self._put(f"@{NAME}", f"@{NAME}", looks, PERSON)

    def _emphasis(self, looks: str) -> None:
        if not self._quiet and self._chance.random() < 0.2:
            self._marks_in_marks(looks)
            return
        text, mark = self._chance.choice(EMPHASISED), self._chance.choice(list(MARKS))
        before = self._chance.choice(["", "", "代码"]) if "_" not in mark else ""
        after = self._chance.choice(["", "", "代码", "，", "."]) if "_" not in mark else self._chance.choice(["", "."])
        self._put(before, before, looks)
        self._put(f"{mark}{text}{mark}", text, looks + MARKS[mark])
        self._put(after, after, looks)

    def _marks_in_marks(self, looks: str) -> None:
        begins, pieces, ends = self._chance.choice(NESTED)
        self._put(begins)
        for written, look in pieces:
            self._put(written, written.strip("*`"), looks + look)
        self._put(ends)

    def _reference(self, looks: str) -> None:
        """A link whose target stands at the end; in another message it is seen as it is written."""
        number, address = len(self._definitions) + 1, self._chance.choice(self._addresses)
        name, label = f"r {number}", self._chance.choice(self._labels)
        written, shown = self._chance.choice(
            [(f"[{label}][{name}]", label), (f"[{name}]", name), (f"[{name}][]", name)]
        )
        self._definitions.append((name, address))
        self.markdown += written
        self.parts += [[seen(shown, looks, address), seen(written, looks)], [[]]]

    def _link(self, looks: str) -> None:
        if self._has_references and self._chance.random() < 0.5:
            self._reference(looks)
            return
        label, address = (
            self._chance.choice(self._labels),
            self._chance.choice([*self._addresses, *self._long]),
        )
        form = self._chance.randrange(1 if self._quiet else 4)
        written = [
            f"[{label}]({address})",
            f"<{address}|{label}>",
            f'<a href="{address}">{label}</a>',
            f"![{label}]({address})",
        ][form]
        self._put(written, label, looks, address)

    def _heading(self) -> None:
        self._put("#" * self._chance.randint(1, 4) + " ")
        self._line("b")

    def _list(self) -> None:
        ordered = self._chance.random() < 0.5
        for number in range(1, self._chance.randint(2, 5)):
            self._put("\n" if number > 1 else "")
            self._put(f"{number}. " if ordered else "- ", f"{number}." if ordered else None)
            self._line()

    def _tasks(self) -> None:
        for number in range(self._chance.randint(1, 4)):
            done = self._chance.choice(" xX")
            self._put(("\n" if number else "") + f"- [{done}] ", "☐" if done == " " else "☑")
            self._line()

    def _underlined(self) -> None:
        """A title above a line: as one, or as words with a line below, since that comes after them."""
        self.parts.append([[]])
        begins = len(self.parts) - 1
        self._line()
        for part in self.parts[begins:]:
            part += [[replace(one, looks=one.looks | {"b"}) for one in way] for way in part]
        rule = self._chance.choice(["===", "---"])
        self.markdown += f"\n{rule}"
        self.parts += [[[], seen(rule), seen("———")], [[]]]

    def _note(self) -> None:
        """A footnote, for which no platform has a form."""
        self._line()
        self._put("[^1]\n\n[^1]: ", "[^1][^1]: ")
        if self._chance.random() < 0.5:
            self._put("Source", "Source")
        else:
            self._line()

    def _nested(self) -> None:
        """Lists in lists, with code in the innermost; now and then in a quotation."""
        inside, quoted = "", "> " if self._chance.random() < 0.2 else ""
        for level in range(self._chance.randint(2, 4)):
            before = inside + "  " * self._chance.randint(0, 1) if level else ""
            self._put(f"\n{quoted}{before}- " if level else f"{quoted}- ")
            self._line()
            inside = f"{before}  "
        for _ in range(self._chance.randint(1, 3)):
            lines = self._lines_of_code().split("\n") * self._chance.choice([1, 1, 9])
            around = f"\n{quoted}{inside}"
            self._put(f"{around}```python")
            self._put("".join(f"{around}  {line}" for line in lines), "".join(f"  {line}" for line in lines), "c")
            self._put(f"{around}```\n{quoted}{before}- ")
            self._line()

    def _tagged(self) -> None:
        """A paragraph, a title, a list or code in HTML."""
        name, closes = self._chance.choice(["p", "h3", "ul", "ol", "pre"]), self._chance.random() < 0.8
        if name in ("ul", "ol"):
            self._put(f"<{name}>")
            for number in range(1, self._chance.randint(2, 4)):
                self._put("\n  <li>", f"{number}." if name == "ol" else None)
                self._line()
                if self._chance.random() < 0.3:
                    self._put("\n    <ul><li>")
                    self._line()
                    self._put("</li></ul>")
                self._put("</li>" * closes)
            self._put(f"\n</{name}>")
        elif name == "pre":
            lines = self._lines_of_code()
            self._put("<details>\n" * closes + '<pre><code class="language-python">')
            self._put(escape(lines), lines, "c")
            self._put("\n</code></pre>" + "\n</details>" * closes)
        else:
            self._put(f"<{name}>")
            self._line("b" if name == "h3" else "")
            self._put(f"</{name}>")

    def _lines_of_code(self) -> str:
        return "\n".join(self._chance.choice(CODES) for _ in range(self._chance.randint(1, 4)))

    def _rule(self) -> None:
        """A line between blocks, which is a line of dashes where the platform has none."""
        self._put(self._chance.choice(["---", "***", "- - -"]))
        self.parts += [[seen("———"), []], [[]]]

    def _code(self) -> None:
        lines = self._lines_of_code()
        self._put(f"```python\n{lines}\n```", lines, "c")

    def _quote(self) -> None:
        for number in range(self._chance.randint(1, 3)):
            self._put("\n> " if number else "> ")
            self._line()

    def _table(self) -> None:
        """A table, now and then in a quotation."""
        columns, before = self._chance.randint(1, 4), "> " if self._chance.random() < 0.15 else ""
        rows = [[self._cell(empty=columns > 1) for _ in range(columns)] for _ in range(self._chance.randint(1, 4))]
        names = self._chance.sample(["city", "名前", "👍🏽", "price in $"], columns)
        head: list[Cell] = [(word, [seen(word)]) for word in names]
        rules = [self._chance.choice([":--", "--:", ":-:", "---"]) for _ in range(columns)]
        lines = [[text for text, _ in head], rules, *([text for text, _ in row] for row in rows)]
        self.markdown += "\n".join(f"{before}| {' | '.join(line)} |" for line in lines)
        self.parts += rows_seen(head, rows)

    def _table_of_html(self) -> None:
        """A table in HTML, with titles or without."""
        columns, titled, line = (
            self._chance.randint(1, 3),
            self._chance.random() < 0.7,
            self._chance.choice(["", "\n  "]),
        )
        rows = [[self._cell_of_html() for _ in range(columns)] for _ in range(self._chance.randint(1, 4))]
        names = self._chance.sample(["city", "名前", "👍🏽"], columns) if titled else [""] * columns
        head: list[Cell] = [(word, [seen(word)]) for word in names]
        body = [f"<tr>{line}{line.join(f'<td>{text}</td>' for text, _ in row)}{line}</tr>" for row in rows]
        titles = (
            f"<thead>{line}<tr>{''.join(f'<th>{name}</th>' for name in names)}</tr></thead>{line}" if titled else ""
        )
        self.markdown += f"<table>{line}{titles}<tbody>{line}{line.join(body)}{line}</tbody></table>"
        self.parts += rows_seen(head, rows)

    def _cell_of_html(self) -> Cell:
        address, word = self._chance.choice(self._addresses), self._chance.choice(self._words)
        cells: list[Cell] = [
            (escape(word, quote=False), [seen(word)]),
            (f'<a href="{escape(address)}">文档</a>', [seen("文档", "", address)]),
            ("<code>x | y</code>", [seen("x | y", "c")]),
            ("<b>fat</b>", [seen("fat", "b")]),
            ("<p>one</p>\n<p>two</p>", [seen("one"), seen("two")]),
        ]
        return self._chance.choice(cells)

    def _cell(self, *, empty: bool) -> Cell:
        kind = self._chance.random()
        if kind < 0.1 and empty:
            return "", [[]]
        if kind < 0.2 and not self._quiet:
            return "one<br>two", [seen("one"), seen("two")]
        if kind < 0.25 and self._long:
            return "wide " * 24, [seen("wide " * 24)]
        if kind < 0.4:
            return f"[文档]({ADDRESSES[2]})", [seen("文档", "", ADDRESSES[2])]
        if kind < 0.5:
            return "`a*b`", [seen("a*b", "c")]
        if kind < 0.6:
            return "**fat**", [seen("fat", "b")]
        word: str = self._chance.choice([one for one in self._words if "|" not in one])
        return word, [seen(word)]
