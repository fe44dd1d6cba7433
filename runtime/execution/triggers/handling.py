"""The built-in playbook for messages that come while no playbook of an agent is running."""

from __future__ import annotations

from runtime.language.diagnostics import Span
from runtime.language.program import Param, PlaybookSpec

HANDLER = PlaybookSpec(
    name="ProcessMessages",
    kind="llm",
    span=Span("built-in", 1),
    params=(Param("messages"),),
    description=(
        "Handles messages that came while nothing was going on, all of them, in their order. When a trigger above "
        "fits one, call its playbook with what the message gives; else answer whoever wrote, as your "
        "description says: a person, an agent, or a meeting. A message that was changed or taken back: see to what "
        'was done because of it. A reminder: do what it says. At the end `await Var("__", "<what was done>")` keeps in '
        "a sentence what was done, for later; then Return."
    ),
    metadata={"hidden": True},
)
"""The playbook, which needs no compilation because it has no steps."""
