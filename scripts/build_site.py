"""Build the documentation as a site, with a search that needs no network: `python scripts/build_site.py [FOLDER]`.

The pages are those of `docs/`, in the order that `zensical.toml` gives. Files of the repository that they link to
become pages too. A link that leads nowhere fails the build. `llms.txt` lists the pages with their first sentences,
for programs.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from html.parser import HTMLParser
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

ROOT = Path(__file__).resolve().parents[1]
DOCS = ROOT / "docs"
_UNSEARCHED = "---\nsearch:\n  exclude: true\n---\n"
"""The beginning of a page that the search of the site leaves out: who looks for a word wants what explains it."""

LANGUAGES = {".py": "python", ".mjs": "javascript", ".toml": "toml", ".pb": "markdown", ".sh": "sh"}
Nav = Sequence["str | Mapping[str, Nav]"]
_LINK = re.compile(r"(\]\()(\.\./[^)#\s]+)((?:#[^)\s]*)?\))")


class _References(HTMLParser):
    """What a page links to and loads."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag != "link":
            self.found += [value for name, value in attrs if name in {"href", "src"} and value]


def pages(nav: Nav) -> Iterator[str]:
    """The paths in a nav, in order."""
    for entry in nav:
        if isinstance(entry, str):
            yield entry
        else:
            for below in entry.values():
                yield from pages(below)


def summary(page: Path) -> tuple[str, str]:
    """The title of a page and its first sentence."""
    text = re.sub(r"<!--.*?-->\s*", "", page.read_text(), flags=re.DOTALL)
    title = re.search(r"^# (.+)$", text, re.MULTILINE)
    assert title is not None, f"{page} has no title"
    paragraph = next((each for each in text[title.end() :].split("\n\n") if re.match(r"\s*[A-Za-z`\[*]", each)), "")
    sentence = re.split(r"(?<=[.])\s", " ".join(paragraph.split()), maxsplit=1)[0]
    return title[1], re.sub(r"\[([^\]]+)\]\([^)]+\)", r"\1", sentence)


def llms_text(project: Mapping[str, Any], source: Path) -> str:
    """The list of pages for programs, as llmstxt.org describes it."""
    lines = [f"# {project['site_name']}", "", f"> {project['site_description']}"]
    for section in project["nav"]:
        for name, below in section.items():
            lines += ["", f"## {name}", ""]
            for path in pages(below):
                title, first = summary(source / path)
                lines.append(f"- [{title}]({path.removesuffix('.md')}.html): {first}")
    return "\n".join(lines) + "\n"


def copy_pages(source: Path) -> None:
    """The pages, with links out of `docs/` led to copies of what is there."""
    shutil.copytree(DOCS, source)
    records = sorted((source / "decisions").glob("*.md"))
    listed = "\n".join(f"- [{summary(each)[0]}]({each.name})" for each in records)
    (source / "decisions" / "index.md").write_text(f"# Decisions\n\n{listed}\n")
    for page in sorted(source.rglob("*.md")):
        folder = DOCS / page.relative_to(source).parent

        def led(match: re.Match[str], page: Path = page, folder: Path = folder) -> str:
            target = (folder / match[2]).resolve()
            if target.is_relative_to(DOCS):
                return match[0]
            shown = source / "source" / target.relative_to(ROOT)
            write_source(target, shown)
            leads = shown / "index.md" if target.is_dir() else shown.with_name(shown.name + ".md")
            return f"{match[1]}{'../' * len(page.parent.relative_to(source).parts)}{leads.relative_to(source)})"

        page.write_text(_LINK.sub(led, page.read_text()))


def write_source(target: Path, shown: Path) -> None:
    """A file of the repository as a page; of a folder, a list of its files."""
    if target.is_dir():
        files = sorted(each for each in target.iterdir() if each.is_file())
        shown.mkdir(parents=True, exist_ok=True)
        listed = "\n".join(f"- [{each.name}]({each.name}.md)" for each in files)
        (shown / "index.md").write_text(f"{_UNSEARCHED}# {target.relative_to(ROOT)}/\n\n{listed}\n")
        for each in files:
            write_source(each, shown / each.name)
        return
    shown.parent.mkdir(parents=True, exist_ok=True)
    language = LANGUAGES.get(target.suffix, "text")
    text = f"{_UNSEARCHED}# {target.relative_to(ROOT)}\n\n`````{language}\n{target.read_text()}\n`````\n"
    shown.with_name(shown.name + ".md").write_text(text)


def missing(site: Path) -> list[str]:
    """The references of all pages that lead nowhere."""
    found = []
    for page in sorted(site.rglob("*.html")):
        if page.name == "404.html":
            continue
        references = _References()
        references.feed(page.read_text())
        for reference in references.found:
            parts = urlsplit(reference)
            if parts.scheme or parts.netloc or not parts.path:
                continue
            target = page.parent / unquote(parts.path)
            if not (target.is_file() or (target / "index.html").is_file()):
                found.append(f"{page.relative_to(site)}: {reference}")
    return found


def build(site: Path) -> None:
    """Write the site, or end with what is wrong with it."""
    text = (ROOT / "zensical.toml").read_text()
    project = tomllib.loads(text)["project"]
    with tempfile.TemporaryDirectory() as folder:
        copy_pages(Path(folder) / "docs")
        (Path(folder) / "docs" / "llms.txt").write_text(llms_text(project, Path(folder) / "docs"))
        (Path(folder) / "zensical.toml").write_text(text)
        command = [str(Path(sys.executable).with_name("zensical")), "build", "--strict", "--clean"]
        done = subprocess.run(command, cwd=folder, text=True, capture_output=True, check=False)
        if done.returncode:
            sys.exit(done.stdout + done.stderr)
        shutil.rmtree(site, ignore_errors=True)
        shutil.copytree(Path(folder) / "site", site)
    if nowhere := missing(site):
        sys.exit("These links of the documentation lead nowhere:\n" + "\n".join(nowhere))


if __name__ == "__main__":
    build(Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT / "site")
