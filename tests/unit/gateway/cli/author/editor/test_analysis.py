"""What an editor is told of a program's text."""

from __future__ import annotations

from pathlib import Path

import pytest

from gateway.cli.author.editor.analysis import Analysis, NotRenamed, analyse
from runtime.language.diagnostics import Span

pytestmark = pytest.mark.anyio

FILE = Path("/programs/shop.pb")
TEXT = '''# Shop
You sell things.

```python
@playbook
async def PriceOf(thing: str) -> int:
    """What a thing costs."""
    return {"cup": 3}[thing]
```

## Main
### Triggers
- When program starts
### Steps
- Ask the user for the $thing:str
- $price:int = PriceOf(thing=$thing)
- Say "{$thing} costs {price} euros."
- $when:str = Courier.Deliver(thing=$thing)
- End program

# Courier
You bring things.

## public: Deliver($thing:str) -> str
### Steps
- Return "tomorrow"
'''


@pytest.fixture
async def shop() -> Analysis:
    return await analyse(TEXT, FILE)


def at(part: str, nth: int = 0, within: int = 1) -> tuple[int, int]:
    """The position in the middle of the nth appearance of a part."""
    start = -1
    for _ in range(nth + 1):
        start = TEXT.index(part, start + 1)
    line = TEXT.count("\n", 0, start)
    return line, start - (TEXT.rfind("\n", 0, start) + 1) + within


async def test_a_good_program_has_no_complaints_and_an_outline(shop: Analysis) -> None:
    assert shop.complaints == []
    outline = [(one.name, [(inner.name, inner.detail) for inner in one.inner]) for one in shop.outline()]
    assert outline == [
        ("Shop", [("PriceOf", "python"), ("Main", "Main()")]),
        ("Courier", [("Deliver", "Deliver($thing:str) -> str")]),
    ]


async def test_parts_of_the_outline_do_not_overlap_and_end_with_the_text(shop: Analysis) -> None:
    first, second = shop.outline()
    assert (first.line, first.last_line + 1) == (0, second.line)
    assert second.last_line == len(shop.rows) - 1


async def test_what_is_wrong_is_said_at_its_place_while_it_is_written() -> None:
    complaints = (await analyse(TEXT.replace("PriceOf(thing=$thing)", "PriecOf(thing=$thing)"), FILE)).complaints
    assert [(one.span.line, one.severity) for one in complaints] == [(16, "error")]
    assert "PriceOf" in complaints[0].message + complaints[0].hint
    broken = await analyse(TEXT.replace("### Triggers\n", "### Trigers\n"), FILE)
    assert broken.complaints


async def test_a_step_says_what_it_means(shop: Analysis) -> None:
    line, _ = at("Ask the user")
    said = shop.meaning(line, 0) or ""
    assert "`01:QUE`" in said
    assert "Wait for the user" in said


async def test_a_name_says_what_it_is(shop: Analysis) -> None:
    assert "PriceOf(thing:str) -> int" in (shop.meaning(*at("PriceOf", 1)) or "")
    assert "You bring things." in (shop.meaning(*at("Courier")) or "")
    assert shop.meaning(1, 2) is None


async def test_definitions_lead_to_playbooks_agents_and_the_first_use_of_variables(shop: Analysis) -> None:
    assert shop.definition(*at("PriceOf", 1)) == Span(str(FILE), 6)
    found = shop.definition(*at("Deliver"))
    assert isinstance(found, Span)
    assert found.line == 24
    first = shop.definition(*at("$thing", 1, 2))
    assert first is not None
    assert first.line == at("$thing")[0]
    assert shop.definition(1, 1) is None


async def test_a_variable_is_renamed_in_its_agent_also_in_braces(shop: Analysis) -> None:
    places = shop.renamed(*at("$price"), "cost")
    assert [shop.rows[one.line][one.start : one.end] for one in places] == ["price", "price"]
    others = shop.renamed(*at("$thing"), "item")
    assert {one.line for one in others} <= set(range(at("# Courier")[0]))
    assert len(others) == 4


@pytest.mark.parametrize(
    ("place", "new", "why"),
    [
        (at("Ask"), "x", "Only variables"),
        (at("$price"), "two words", "is not a name"),
        (at("$price"), "thing", "has a variable"),
        (at("$thing", 4), "item", "is a parameter of Deliver"),
    ],
)
async def test_what_cannot_be_renamed_says_why(shop: Analysis, place: tuple[int, int], new: str, why: str) -> None:
    with pytest.raises(NotRenamed, match=why):
        shop.renamed(*place, new)


async def test_suggestions_are_variables_behind_a_dollar_and_else_what_can_be_called(shop: Analysis) -> None:
    line, character = at("Say ")
    behind = await analyse(TEXT.replace('Say "{$thing}', 'Say $t "{$thing}'), FILE)
    assert {one.text for one in behind.suggestions(line, character + 5)} == {"$thing", "$price", "$when"}
    calls = {one.text for one in shop.suggestions(line, 2)}
    assert {"PriceOf", "Courier", "Courier.Deliver", "Ask", "Ask the user "} <= calls


@pytest.mark.parametrize("text", ["", "\n\n", "# ", "## Main\n", "\ud800", "- $", "```", "#" * 5000, "- a\n" * 2000])
async def test_a_text_of_any_kind_is_analysed(text: str) -> None:
    found = await analyse(text, FILE)
    for line in (0, 1, 10_000):
        found.meaning(line, 3)
        found.definition(line, 3)
        found.references(line, 3)
        found.suggestions(line, 3)
    found.outline()
