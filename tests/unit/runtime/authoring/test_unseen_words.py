"""Words that nobody sees are found: those of playbooks that begin on events, where the program names no place."""

import pytest

from runtime.authoring.beginnings import unseen_words
from runtime.language.compiler import compile_program
from runtime.language.lowering.rules import RulesLowerer

PYTHON = """# Store
```python
@playbook(triggers=["When the event stock.low arrives"])
async def Low(item: str):
    await {call}


@playbook
async def Recount(item: str):
    await Say("user", item)


async def other():
    await Say("user", "not a playbook of it")
```
"""
STEPS = """# Store
## Low($item:str)
### Triggers
- {trigger}
### Steps
- Tell the user that $item is low
"""


async def found(tmp_path_factory: pytest.TempPathFactory, text: str) -> list[str]:
    path = tmp_path_factory.mktemp("it") / "it.pb"
    path.write_text(text)
    result = await compile_program([str(path)], lowerer=RulesLowerer())
    return [one.message for one in unseen_words(result.program)]


@pytest.mark.parametrize(
    ("text", "finds"),
    [
        (PYTHON.format(call='Say("user", item)'), True),
        (PYTHON.format(call="Recount(item)"), True),
        (PYTHON.format(call='Say("Helper", item)'), False),
        ("---\ndeliver: team\n---\n" + PYTHON.format(call="Recount(item)"), False),
        (STEPS.format(trigger="When the event stock.low arrives"), True),
        (STEPS.format(trigger="When the user asks for the stock"), False),
    ],
)
async def test_a_playbook_that_says_something_to_nobody_is_found(
    text: str, finds: bool, tmp_path_factory: pytest.TempPathFactory
) -> None:
    message = "nobody sees what Low says to people: it begins on an event of another program"
    assert await found(tmp_path_factory, text) == [message] * finds
