"""Changes that an editor makes to the variables of an agent, as facts."""

from __future__ import annotations

from typing import Any

from gateway.observability.debugger.expressions import Expressions
from gateway.observability.debugger.variables import References, shown
from gateway.observability.debugger.wire import Request
from runtime.core.errors import DebugError
from runtime.execution.triggers.triggers import declared_types
from runtime.language.value_types import coerced
from runtime.tape.facts.agents import VariablesAltered


async def set_variable(request: Request, references: References, expressions: Expressions) -> dict[str, Any]:
    """Set a variable of an agent whose session is stopped; durable on return. Fires no trigger.

    The next statement sees the value. Raises DebugError for anything but a variable of an agent, and for a wrong type.
    """
    watch, container = references.get(request.number("variablesReference"))
    name, state = request.text("name"), watch.journal.state
    agent = next((agent for agent in state.agents.values() if agent.variables is container), None)
    if agent is None or name not in agent.variables:
        raise DebugError("only variables of an agent can be changed, each as a whole; locals are results of code")
    value = await expressions.value(request.text("value"), agent.variables)
    spec = watch.program.agent(agent.klass)
    declared = declared_types(spec).get(name, "") if spec is not None else ""
    try:
        value = coerced(value, declared)
    except ValueError as error:
        raise DebugError(f"${name} {error}") from error
    if watch.stand is None:
        raise DebugError("its session is running again; pause it to change something")
    watch.journal.note(VariablesAltered(agent.id, {name: value}))
    await watch.journal.commit()
    body = shown(references, watch, name, value)
    return {key: one for key, one in body.items() if key not in ("name", "evaluateName")}
