"""Words that nobody sees: those of playbooks that begin on events, in a program that names no place for them."""

from __future__ import annotations

import re
from collections.abc import Iterator

from runtime.language.event_triggers import PLACE
from runtime.language.lint.findings import Finding
from runtime.language.program import AgentSpec, PlaybookSpec, Program
from runtime.language.trigger_words import event_trigger

_SAYS = re.compile(r"""\bSay\(\s*["']?(?:user|human)\b""", re.IGNORECASE)
_CALL = re.compile(r"\b([^\W\d]\w*)\(")


def unseen_words(program: Program) -> Iterator[Finding]:
    """Playbooks that begin on events of other programs and say something to people, who see it nowhere."""
    if program.metadata.get(PLACE):
        return
    for agent in program.agents:
        for playbook in agent.playbooks:
            if any(event_trigger(trigger.text) for trigger in playbook.triggers) and _says(agent, playbook):
                message = f"nobody sees what {playbook.name} says to people: it begins on an event of another program"
                hint = f"Write `{PLACE}: team` between --- lines at the top, with the name of one of [tasks.places]."
                yield Finding(playbook.span, message, hint, playbook.name)


def _says(agent: AgentSpec, playbook: PlaybookSpec) -> bool:
    """Whether a playbook, or one of the same agent that it calls, says something to people."""
    known, left = {playbook.name}, [playbook]
    while left:
        text = _text(agent, left.pop())
        if _SAYS.search(text):
            return True
        called = [agent.playbook(name) for name in dict.fromkeys(_CALL.findall(text)) if name not in known]
        left += [one for one in called if one is not None]
        known |= {one.name for one in left}
    return False


def _text(agent: AgentSpec, playbook: PlaybookSpec) -> str:
    """The steps of a playbook, or its code."""
    if playbook.kind != "python":
        return "\n".join(step.text for step in playbook.walk_steps())
    begins = re.compile(rf"^(?:async )?def {re.escape(playbook.name)}\(.*?(?=^\S|\Z)", re.DOTALL | re.MULTILINE)
    found = (begins.search(fence.source) for fence in agent.fences)
    return next((match[0] for match in found if match is not None), "").partition("\n")[2]
