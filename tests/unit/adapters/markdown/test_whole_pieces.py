"""What a page never ends within: a link, a row of a table, a table's head."""

from __future__ import annotations

import pytest

from adapters.markdown.paging import cut_pages, split_pages

LONG = "https://e.org/" + "a" * 200
FORMS = [f"[the docs]({LONG})", f"<{LONG}|the docs>", f'<a href="{LONG}">the docs</a>', LONG, f"<{LONG}>"]
HEAD = "| a | b |\n|---|---|\n"


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("before", [30, 150, 290])
def test_a_link_longer_than_a_quarter_of_a_page_goes_to_the_next_one_whole(form: str, before: int) -> None:
    text = f"{'w ' * (before // 2)}{form} end. {'w ' * 200}"
    pages = split_pages(text, 300, len)
    assert sum(form in page for page in pages) == 1
    assert all(len(page) <= 300 for page in pages)
    assert "".join("".join(pages).split()) == "".join(text.split())


SHORT = "https://e.org/a_(b)"
LINKS = [
    *(f"[the docs]({SHORT})", f"![the docs]({SHORT})", f"[the docs](<{SHORT}>)", f'[the docs]({SHORT} "the title")'),
    *(f"<{SHORT}|the docs>", f"<{SHORT}>", f'<a href="{SHORT}">the docs</a>', f"**[the docs]({SHORT})**"),
    *(f"[{SHORT}]({SHORT})", f"_{SHORT}_", f"`{SHORT}`", SHORT, "https://e.org/a_[b]"),
]


@pytest.mark.parametrize("link", LINKS)
@pytest.mark.parametrize("after", ["", "，", "。然后重启服务器", "[^1]", ".", "**fat**", "\\"])
def test_wherever_a_page_ends_behind_a_link_it_does_not_end_within(link: str, after: str) -> None:
    text = f"{'words ' * 15}{link}{after} {'more ' * 12}"
    begins, ends = text.index(link), text.index(link) + len(link)
    for limit in range(len(link) + 20, len(text)):
        for cut in cut_pages(text, limit, len):
            marks = len(link) - len(link.rstrip("*_`"))
            assert not begins < cut.end < ends - marks, (limit, cut.text)
            assert cut.text.rstrip()[-1:] not in "*_" or link in cut.text or "fat**" in cut.text


def test_words_without_spaces_behind_an_address_fill_the_page() -> None:
    first, *_ = split_pages(f"(https://e.org/a)，{'请重启' * 200}", 300, len)
    assert len(first) > 250


@pytest.mark.parametrize("text", ["_" * 3000, "a " + "*" * 3000 + " b", "https://e.org/" + "~" * 3000])
def test_signs_that_fill_more_than_a_page_are_cut_as_words(text: str) -> None:
    pages = split_pages(text, 1000, len)
    assert len(pages) <= 5
    assert "".join(pages).count(text[-9]) >= 3000


def test_a_sign_written_as_such_before_a_link_stays_so() -> None:
    text = f"{'words ' * 15}\\*[the docs]({SHORT}) {'more ' * 12}"
    assert not [page for limit in range(60, 140) for page in split_pages(text, limit, len) if page.endswith("\\")]


def test_a_link_longer_than_a_page_is_cut_as_its_text() -> None:
    text = f"see [x](https://e.org/{'a' * 500}) end"
    pages = split_pages(text, 300, len)
    assert "".join("".join(pages).split()) == "".join(text.split())
    assert all(len(page) <= 300 for page in pages)


def test_a_bracket_that_is_no_link_does_not_end_a_page() -> None:
    text = f"{'w ' * 20}[{'w ' * 400}"
    assert len(split_pages(text, 500, len)) == 2


@pytest.mark.parametrize("quoted", ["", "> "])
def test_a_row_goes_to_the_next_page_whole_with_the_head_above_it(quoted: str) -> None:
    rows = [f"| {name * 90} | {name} |\n" for name in "xyz"]
    text = "".join(quoted + line for line in (HEAD + "".join(rows)).splitlines(keepends=True))
    first, second, *_ = split_pages(f"{'w ' * 60}\n\n{text}", 300, len)
    assert first.count("|---|---|") == second.count("|---|---|") == 1
    assert rows[0].rstrip("\n") in first
    assert second.startswith(f"{quoted}| a | b |\n{quoted}|---|---|\n{quoted}{rows[1]}")


@pytest.mark.parametrize("room", [290, 270, 266])
@pytest.mark.parametrize("quoted", ["", "> "])
def test_a_page_does_not_end_with_the_head_of_a_table_or_a_part_of_it(room: int, quoted: str) -> None:
    table = "".join(quoted + line for line in f"{HEAD}| {'x' * 40} | y |\n".splitlines(keepends=True))
    first, second = split_pages(f"{'w ' * 125}\n\n{table}", room, len)
    assert "|" not in first
    assert second.rstrip("\n") == table.rstrip("\n")
