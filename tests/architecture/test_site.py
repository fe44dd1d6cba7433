"""The documentation as a site has every page, and a list of them for programs."""

from __future__ import annotations

import runpy
import tomllib

from tests.architecture.source_tree import ROOT

pages = runpy.run_path(str(ROOT / "scripts" / "build_site.py"))["pages"]


def test_every_page_is_in_the_menu_of_the_site_once() -> None:
    listed = list(pages(tomllib.loads((ROOT / "zensical.toml").read_text())["project"]["nav"]))
    paths = {path.relative_to(ROOT / "docs") for path in (ROOT / "docs").rglob("*.md")}
    written = {str(path) for path in paths if path.parts[0] != "decisions"}
    assert sorted(listed) == sorted({*written, "decisions/index.md"})
