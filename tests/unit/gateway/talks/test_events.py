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
