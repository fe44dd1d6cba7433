"""What a person sees of a message on the page of the web chat, in a real browser: words, and how the elements around
them look and where they lead (HTML Standard). A formula that is not drawn yet stands there as TeX.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path

from playwright.sync_api import Page, Route, sync_playwright

from tests.e2e.browsing import browser_path
from tests.fidelity.seen import NAME, PERSON, Seen, seen

_FILES = Path(__file__).parents[2] / "gateway" / "web" / "page"
_ADDRESS = "http://page.example"
_DOCUMENT = """<!doctype html><meta charset=utf-8>
<script src=/assets/vendor/purify.min.js></script>
<script type=module>
import { render } from "/assets/messages/markdown.js";
const LOOKS = { STRONG: "b", B: "b", EM: "i", I: "i", DEL: "s", S: "s", CODE: "c", PRE: "c" };
function* runs(node, looks, target) {
  if (node.nodeType === Node.TEXT_NODE) yield [node.data, looks, target];
  if (node.matches?.(".code-head, button")) return;
  if (node.matches?.("ol > li")) {
    yield [`${node.parentElement.start + [...node.parentElement.children].indexOf(node)}.`, looks, target];
  }
  const look = node.matches?.("code.tex") ? "" : node.matches?.("h1, h2, h3, h4, h5, h6") ? "b" : LOOKS[node.nodeName];
  const leads = node.matches?.(".mention") ? `mention ${node.textContent}` : node.getAttribute?.("href");
  for (const child of node.childNodes) yield* runs(child, looks + (look ?? ""), leads ?? target);
}
window.read = (texts) => texts.map((text) => [...runs(render(text), "", null)]);
</script>"""


@contextmanager
def opened() -> Iterator[Callable[[Sequence[str]], list[list[Seen]]]]:
    """The page, which reads messages until it is closed."""
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=browser_path(), args=["--no-sandbox"])
        page = browser.new_page()
        page.route("**/*", _served)
        page.goto(_ADDRESS)
        page.wait_for_function("() => Boolean(window.read)")
        yield partial(_read, page)
        browser.close()


def _served(route: Route) -> None:
    """Give the page its files, but not the library that draws formulas."""
    file = _FILES / route.request.url.removeprefix(f"{_ADDRESS}/assets/")
    if route.request.url == f"{_ADDRESS}/":
        route.fulfill(body=_DOCUMENT, content_type="text/html")
    elif file.is_file() and not file.name.startswith("temml"):
        route.fulfill(path=file)
    else:
        route.abort()


def _read(page: Page, texts: Sequence[str]) -> list[list[Seen]]:
    return [list(_shown(runs)) for runs in page.evaluate("(texts) => window.read(texts)", texts)]


def _shown(runs: Sequence[tuple[str, str, str | None]]) -> Iterator[Seen]:
    for words, looks, target in runs:
        mentioned = (target or "").startswith("mention ")
        assert not mentioned or target == f"mention @{NAME}", "it pings"
        yield from seen(words, looks, PERSON if mentioned else target)
