"""The documentation as a site has every page, and a list of them for programs."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Mapping, Sequence

from tests.architecture.source_tree import ROOT

Nav = Sequence["str | Mapping[str, Nav]"]


def pages(nav: Nav) -> Iterator[str]:
    for entry in nav:
        if isinstance(entry, str):
            yield entry
        else:
            for below in entry.values():
                yield from pages(below)


def test_every_page_is_in_the_menu_of_the_site_once() -> None:
    listed = list(pages(tomllib.loads((ROOT / "zensical.toml").read_text())["project"]["nav"]))
    written = {path.name for path in (ROOT / "docs").glob("*.md")}
    assert sorted(listed) == sorted({*written, "decisions/index.md"})
