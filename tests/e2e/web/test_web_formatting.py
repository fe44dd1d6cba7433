"""Colours in code and formulas on the page, from people and models who may mean harm."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from playwright.async_api import Browser, expect

from runtime.core.address import Address, Speaker
from runtime.core.room import RoomPost
from tests.e2e.browsing import entered
from tests.e2e.web.test_web_page import listening
from tests.fakes.pages.web_chat import web_chat

pytestmark = [pytest.mark.anyio, pytest.mark.timeout(240)]

LOBBY = Address("web", "lobby")
GUIDE = Speaker("1000", "Guide")
CODE = "```python\ndef total(orders):\n    return 12  # all\n```"
OTHERS = "```brainfuck\n+++.\n```\n\n```python\n" + "x = 1\n" * 3_000 + "```"
FORMULAS = (
    "It costs $5 and $6. So $x^2 + 1$, \\(y_1\\) and `$z$`:\n"
    "$$\n\\begin{pmatrix}a&b\\\\c&d\\end{pmatrix}\n$$\nand $no\\such{x}$"
)
EVIL = (
    "$\\href{javascript:window.hurt=1}{x}$ $\\text{<img src=x onerror=window.hurt=1>}$ $\\def\\a{\\a\\a}\\a$ "
    "$\\class{hurt}{x}$ $" + "\\sqrt{" * 80 + "x" + "}" * 80 + "$\n\n"
    '```html\n<script>window.hurt=1</script><img src=x onerror="window.hurt=1">\n```'
)


async def test_code_has_colours_and_formulas_are_drawn_with_what_comes_only_then(browser: Browser) -> None:
    async with web_chat() as chat:
        page = await entered(browser, chat.url, "Ada")
        errors, asked = list[str](), list[str]()
        page.on("pageerror", lambda error: errors.append(str(error)))
        page.on("console", lambda line: errors.append(line.text) if line.type in ("error", "warning") else None)
        page.on("request", lambda request: asked.append(request.url) if "vendor" in request.url else None)

        await chat.adapter.send(LOBBY, "no code", speaker=GUIDE, nonce="n0", final=True)
        await expect(page.get_by_text("no code", exact=True)).to_be_visible()
        assert asked == []
        await chat.adapter.send(LOBBY, f"{CODE}\n\n{OTHERS}", speaker=GUIDE, nonce="n1", final=True)
        code = page.locator('[data-id="n1"] code')
        await expect(code.first.locator(".hljs-keyword")).to_have_text(["def", "return"])
        await expect(code.first.locator(".hljs-comment")).to_have_text("# all")
        assert await code.nth(1).locator("*").count() + await code.nth(2).locator("*").count() == 0
        assert [url.rpartition("/")[2] for url in asked] == ["highlight.core.min.js", "python.min.js"]

        await chat.adapter.send(LOBBY, "$x^2 +", speaker=GUIDE, nonce="n2", final=False)
        formulas = page.locator('[data-id="n2"]')
        await expect(formulas.locator(".body")).to_have_text("$x^2 +")
        await chat.adapter.edit(LOBBY, "n2", FORMULAS, speaker=GUIDE, nonce="n2", final=True)
        await expect(formulas.locator("math")).to_have_count(3)
        await expect(formulas.locator("math msup")).to_have_text("x2")
        await expect(formulas.locator("math mtd")).to_have_text(["a", "b", "c", "d"])
        await expect(formulas.locator(".body")).to_contain_text("It costs $5 and $6. So ")
        await expect(formulas.locator("code")).to_have_text(["$z$", "no\\such{x}"])

        await chat.adapter.send(LOBBY, EVIL, speaker=GUIDE, nonce="n3", final=True)
        evil = page.locator('[data-id="n3"]')
        await expect(evil.locator(".hljs-tag").first).to_be_visible()
        await expect(evil.locator("math")).to_have_text("<img src=x onerror=window.hurt=1>")
        await expect(evil.locator("p code")).to_have_count(4)
        assert await evil.locator(".body").locator("img, script, [href], [style], .hurt").count() == 0
        assert await page.evaluate("window.hurt") is None
        assert errors == []


async def test_a_text_is_read_on_the_page_as_on_other_platforms(browser: Browser) -> None:
    async with web_chat() as chat:
        page = await entered(browser, chat.url, "Ada")
        shown = await page.evaluate(
            """async (texts) => {
                const { render } = await import("/assets/messages/markdown.js");
                return texts.map((text) => {
                    const whole = document.createElement("div");
                    whole.append(render(text));
                    return whole.firstElementChild.innerHTML.replaceAll(/ (?:target|rel)="[^"]*"/g, "");
                });
            }""",
            [
                "**注意：**请。**「強調」**です",
                "https://e.org/a，然后 (https://e.org/Foo_(bar)) https://e.org/_x_/y",
                "2*3*4 in*wor*d",
                "<https://e.org?a&amp;b|label> <b>fat *x*</b> <b>open",
                "https://e.org/(a_(b))_c. <https://e.org|a|b> ~/_x_/y a*b*c",
                "H<sub>2</sub>O <kbd>C</kbd> <u>u</u> __init__.py == __main__ x<!-- y -->",
                "\\[a\\] __b__ \\[c\\]",
            ],
        )
        assert shown == [
            "<strong>注意：</strong>请。<strong>「強調」</strong>です",
            '<a href="https://e.org/a">https://e.org/a</a>，然后 (<a href="https://e.org/Foo_(bar)">'
            'https://e.org/Foo_(bar)</a>) <a href="https://e.org/_x_/y">https://e.org/_x_/y</a>',
            "2*3*4 in<em>wor</em>d",
            '<a href="https://e.org?a&amp;b">label</a> <strong>fat <em>x</em></strong> &lt;b&gt;open',
            '<a href="https://e.org/(a_(b))_c">https://e.org/(a_(b))_c</a>. <a href="https://e.org">a|b</a> '
            "~/_x_/y a*b*c",
            "H<sub>2</sub>O <code>C</code> <em>u</em> __init__.py == __main__ x",
            '<code class="tex block">a</code> <strong>b</strong> <code class="tex block">c</code>',
        ]


async def test_html_is_a_list_as_it_comes_and_after_a_reload_and_its_author_changes_what_he_wrote(
    browser: Browser,
) -> None:
    written = "<ul>\n<li>Tea</li>\n<li>Milk</li>\n</ul>"
    async with web_chat() as chat, listening(chat):
        await chat.store.put("lobby", RoomPost("old", "1000", "Guide", "agent", written, datetime.now(UTC)))
        page = await entered(browser, chat.url, "Ada")
        await page.locator("#room-composer textarea").fill(written)
        await page.locator("#room-composer textarea").press("Enter")
        lists = page.locator(".message .body ul")
        await expect(lists).to_have_count(2)
        await expect(page.locator(".message.pending")).to_have_count(0)
        live = await page.locator(".message .body").evaluate_all("all => all.map((one) => one.innerHTML)")
        await page.reload()
        await expect(lists).to_have_count(2)
        assert await page.locator(".message .body").evaluate_all("all => all.map((one) => one.innerHTML)") == live
        await expect(lists.last.locator("li")).to_have_text(["Tea", "Milk"])
        await page.locator(".message.person").hover()
        await page.locator(".message.person").get_by_role("button", name="Edit", exact=True).click()
        await expect(page.locator("#room-composer textarea")).to_have_value(written)
