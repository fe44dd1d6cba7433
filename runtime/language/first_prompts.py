"""Messages that people are offered to begin with: those that a program names, else what its triggers are about."""

from __future__ import annotations

from runtime.language.program import AgentSpec
from runtime.language.vocabulary.phrase import phrase


def first_prompts(agent: AgentSpec) -> tuple[str, ...]:
    """The agent's `prompts`; without any, "Book a flight" of a trigger "When the user asks to book a flight"."""
    if agent.prompts:
        return agent.prompts
    triggers = (trigger.text for playbook in agent.playbooks for trigger in playbook.triggers)
    asked = (phrase("asked in a trigger").begins(text.strip().rstrip(".")) for text in triggers)
    texts = (found["what"] for found in asked if found is not None)
    return tuple(dict.fromkeys(text[:1].upper() + text[1:] for text in texts))
