"""Events of other programs in talks: what begins on them is executed, and what comes of it can be expected."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.unit.gateway.talks.rig import ECHO, differing, held, refused

STORE = """# Store
```python
@playbook(triggers=["When the event stock.* arrives"])
async def Count(item: str = "?", event: dict = {}):
    await Sleep(5)
    if item == "?":
        raise ValueError("nothing was counted")
    await Say("user", f"{item}: {event['type']} of {event['source']}")
    return {"item": item}


@playbook(triggers=["When program starts"])
async def Main():
    for message in await WaitForMessage("user"):
        await Say("user", "heard " + message["text"])
```
"""

ASKING = """# Store
```python
@playbook(triggers=["When the event stock.* arrives"])
async def Order(item: str):
    many = await Ask(f"How many of {item}?")
    sure = await Ask("Sure?", ["Yes", "No"], within_s=60)
    return f"{many} {item}: {sure}"
```
"""


IN_TURN = """## In turn
- event: stock.low from shop {"item": "tea"}
- Store: How many of tea?
- answer: 12
- Store: Sure?
- expect: choices Yes, No
- answer from shop: yes
- expect: result "12 tea: Yes"
"""
TWO_AT_ONCE = """## Two at once, and no answer
- event: stock.low from shop {"item": "tea"}
- event: stock.low from mill {"item": "oats"}
- answer from mill: 3
- expect: "Sure?"
- answer: 5
- wait 2 minutes
- expect: result "5 tea: None"
- expect: result "3 oats: None"
"""


@pytest.mark.parametrize("talk", [IN_TURN, TWO_AT_ONCE])
def test_another_program_answers_what_its_event_began_asks(tmp_path: Path, talk: str) -> None:
    assert differing(tmp_path, ASKING, talk) == []


@pytest.mark.parametrize(
    ("lines", "found"),
    [
        ("- answer: 3\n- answer: No\n- answer: 1", (5, "", "nothing that an event began asks anything")),
        ("- answer from mill: 3", (3, "", "nothing that an event began asks anything of mill")),
        ('- answer: 3\n- answer: Maybe\n- expect: result "Yes"', (5, "the result Yes", "3 tea: Maybe")),
    ],
)
def test_an_answer_that_nobody_waits_for_and_another_result_are_told(
    tmp_path: Path, lines: str, found: tuple[int, str, str]
) -> None:
    assert found in differing(tmp_path, ASKING, f'## One\n- event: stock.low {{"item": "tea"}}\n{lines}\n')


def test_an_answer_is_words_and_needs_a_program_that_begins_on_events(tmp_path: Path) -> None:
    assert "the answer is empty" in refused(tmp_path, "## One\n- answer:\n", STORE)
    assert "begins on an event" in refused(tmp_path, "## One\n- answer: 3\n", ECHO)


def test_a_talk_goes_on_beside_what_an_event_begins(tmp_path: Path) -> None:
    talk = """## Both
- Ada: Hello
- Ada: Are you there?
- Store: heard Are you there?
- event: stock.low from shop {"item": "tea"}
- Store: tea: stock.low of /clients/shop
- expect: call Count(item="tea", …)
- expect: result "tea"
- event: stock.gone
  ```json
  {"item": "milk"}
  ```
- Store: milk: stock.gone of /clients/test
"""
    assert differing(tmp_path, STORE, talk) == []


@pytest.mark.parametrize(
    ("item", "found"),
    [
        ('{"item": "tea"}', (3, "the result milk", '{"item": "tea"}')),
        ("", (3, "the result milk", "no result")),
    ],
)
def test_another_result_and_a_failure_are_told(tmp_path: Path, item: str, found: tuple[int, str, str]) -> None:
    talk = f'## One\n- event: stock.low {item}\n- expect: result "milk"\n- …\n'
    assert found in differing(tmp_path, STORE, talk)


def test_a_failure_can_be_expected(tmp_path: Path) -> None:
    [result] = held(tmp_path, STORE, '## One\n- event: stock.low\n- expect: failure "nothing was counted"\n')
    assert result.differences == []


@pytest.mark.parametrize(
    ("written", "said"),
    [
        ("event: stock.low {item: tea}", "the data is no JSON"),
        ('event: {"item": "tea"}', "type is words of letters"),
        ("event: shop.open from shop", "no playbook begins on the event shop.open"),
        ("evnt: stock.low", "evnt is no agent of the program\n    Did you mean `event`?"),
    ],
)
def test_what_is_no_event_of_the_program_is_refused_with_its_line(tmp_path: Path, written: str, said: str) -> None:
    found = refused(tmp_path, f"## One\n- {written}\n", STORE)
    assert found.startswith("it.test.md:2")
    assert said.split("\n")[0] in found
    assert said.rsplit("\n", maxsplit=1)[-1].strip() in found


def test_a_program_that_begins_on_no_event_says_how(tmp_path: Path) -> None:
    assert "`When the event stock.low arrives`" in refused(tmp_path, "## One\n- event: stock.low\n", ECHO)
