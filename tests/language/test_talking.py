"""Steps that ask, tell, meet and order tasks: programs judged by hand."""

from collections.abc import Iterable
from pathlib import Path

from runtime.language.instructions.expression import Expression
from runtime.language.instructions.model import Ask, Call, Condition, Instruction, Meaning, Say, StepGroup, Think, Wait
from tests.language.frames import does, done_otherwise, rows

FOLDER = Path(__file__).parent / "talking"
_AGENT = "\n\n# {name}\nAn agent.\n\n## public: {playbook}($thing) -> int\n### Steps\n- Return 5\n"
_COMPANY = [("Cook", "Boil"), ("Waiter", "Serve"), ("Researcher", "Study")]
_MEETING = "meeting: true\nrequired_attendees: [Cook, Waiter]\n### Steps\n"
_BEHIND = f'\n\n## Tasting\n{_MEETING}- Say "Welcome."\n' + "".join(
    _AGENT.format(name=name, playbook=playbook) for name, playbook in _COMPANY
)


async def test_programs_talk_as_people_read_them_but_for_a_table_that_only_gets_shorter() -> None:
    known = dict(rows(FOLDER / "disagreements.md"))
    assert await done_otherwise(FOLDER / "programs.md", _around, _done) == sorted(known["free"] + known["silent"])


def _around(title: str) -> tuple[str, str]:
    kind = _MEETING if title.startswith("meeting") else "### Triggers\n- When program starts\n### Steps\n"
    return f"# Desk\nYou help.\n\n## Main\n{kind}", _BEHIND


def _done(instructions: list[Instruction]) -> str:
    """Who hears what, in order; what the same people hear in one step is one message."""
    found: list[str] = []
    for part in (part for one in instructions for part in one.parts if part != StepGroup("")):
        done, before = _does(part), found[-1] if found else ""
        if before.startswith("say ") and done.startswith("say "):
            done = f"say {_listed({*before[4:].split(', '), *done[4:].split(', ')})}"
        elif not done.startswith(f"ask {before[4:]}") and done != before:
            found.append(done)
            continue
        found[-1:] = [done]
    return "; ".join(found)


def _does(part: Meaning) -> str:
    match part:
        case Ask(words=None) | Wait():
            return f"wait {_listed(part.sources)}"
        case Ask():
            return " ".join(["ask", _listed(part.sources), _listed(f"${one.name}" for one in part.wants)]).strip()
        case Say():
            return f"say {_listed(part.targets)}"
        case Call():
            return f"{part.name}(…)"
        case Condition(test=test) if test is not None and not isinstance(test, Expression):
            return f"{part.side} words"
        case Think():
            return "think"
    return does(part)


def _listed(names: Iterable[str]) -> str:
    return ", ".join(sorted(name.removeprefix("agent ") for name in names))
