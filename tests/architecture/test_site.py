"""The documentation as a site has every page, and a list of them for programs."""

from __future__ import annotations

import re
import runpy
import tomllib
from pathlib import Path

from tests.architecture.source_tree import ROOT

SITE = runpy.run_path(str(ROOT / "scripts" / "build_site.py"))
pages = SITE["pages"]


def test_every_page_is_in_the_menu_of_the_site_once() -> None:
    listed = list(pages(tomllib.loads((ROOT / "zensical.toml").read_text())["project"]["nav"]))
    paths = {path.relative_to(ROOT / "docs") for path in (ROOT / "docs").rglob("*.md")}
    written = {str(path) for path in paths if path.parts[0] != "decisions"}
    assert sorted(listed) == sorted({*written, "decisions/index.md"})


def test_llms_txt_names_every_page_of_the_menu_with_its_title_and_first_sentence(tmp_path: Path) -> None:
    project = tomllib.loads((ROOT / "zensical.toml").read_text())["project"]
    SITE["copy_pages"](tmp_path / "docs")
    lines = SITE["llms_text"](project, tmp_path / "docs").splitlines()
    entries = [re.fullmatch(r"- \[(.+)\]\((.+)\.html\): (.*)", line) for line in lines if line.startswith("- ")]
    assert [found and f"{found[2]}.md" for found in entries] == list(pages(project["nav"]))
    said = {found[2]: found[3] for found in entries if found is not None}
    assert said["running/speed"].startswith("`make bench` prints every figure beside its floor")
