"""Steps that call playbooks and built-ins: their arguments, the call, and what becomes of the result."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypeVar

from msgspec.structs import replace

from runtime.core.errors import JournalError, StorageError
from runtime.core.prompt_forms import LineForm, foreign_line
from runtime.execution.calls.table import SIGNATURES
from runtime.execution.processor.course import Course
from runtime.execution.processor.exchange import Exchange
from runtime.execution.processor.questioner import Questioner, expression_text
from runtime.execution.prompt.situation import shown_value
from runtime.execution.questions.form import ValueQuestion
from runtime.language.instructions import model as steps
from runtime.language.instructions.evaluation import FUNCTIONS
from runtime.language.instructions.expression import Expression, read_expression
from runtime.language.instructions.lookups import PROSE_OF
from runtime.language.program import AgentSpec, Param, PlaybookSpec
from runtime.language.vocabulary.subjects import speaks_of_failure

MAX_NOTE_CHARS = 600
"""The length of a call's result for the model; its variables say the rest."""

_TOLD = frozenset({"Spawn", "Result"})
"""Built-in calls whose results later steps speak of, in a variable or not."""

Asking = TypeVar(
    "Asking",
    bound=steps.Say | steps.Ask | steps.Set | steps.Return | steps.Condition | steps.Loop | steps.Jump | steps.Think,
)
"""Instructions that may ask a model."""


class StepCalls:
    def __init__(self, exchange: Exchange, questioner: Questioner) -> None:
        self._exchange = exchange
        self._questioner = questioner
        self._work = exchange.work
        self._context = exchange.context
        self._frame = exchange.frame

    async def execute(self, line: str, part: steps.Call, *, handles_failure: bool) -> None:
        if part.result is not None and (computed := self._function(part)) is not None:
            await self._work.assign(part.result, await self._work.evaluate(computed))
            return
        args, kwargs = await self._arguments(line, part)
        if part.instruction and "instruction" not in kwargs and self._params(part.name) is None:
            self._work.notes.append(f"{LineForm.CALL_TOLD.format(name=part.name)} {part.instruction})")
        try:
            value = await self._work.call(part.name, args, kwargs)
        except (StorageError, JournalError):
            raise
        except Exception as error:
            if not handles_failure:
                raise
            self._work.notes.append(
                f"{LineForm.CALL_FAILED.format(name=part.name)} {foreign_line(str(error)[:MAX_NOTE_CHARS])})"
            )
            value = None
        else:
            self._remember_result(part, args, kwargs, value)
        if part.result is not None:
            await self._work.assign(part.result, value)

    def _function(self, part: steps.Call) -> Expression | None:
        """The expression that a step is which looks like a call of a playbook: `$n = len($list)`. None for calls."""
        if part.name not in FUNCTIONS or part.name in SIGNATURES or self._spec(part.name) is not None:
            return None
        given = [(one.name, one.value.source) for one in part.arguments if isinstance(one.value, Expression)]
        if len(given) < len(part.arguments):
            return None
        return read_expression(f"{part.name}({', '.join(f'{name}={said}' if name else said for name, said in given)})")

    def _remember_result(self, part: steps.Call, args: Sequence[Any], kwargs: Mapping[str, Any], value: Any) -> None:
        if part.name in SIGNATURES and part.result is None and part.name not in _TOLD:
            return
        given = ", ".join(
            [shown_value(one, 80) for one in args] + [f"{k}={shown_value(v, 80)}" for k, v in kwargs.items()]
        )
        self._work.notes.append(
            f"{LineForm.CALL_GAVE.format(name=part.name, any=given)} {shown_value(value, MAX_NOTE_CHARS)})"
        )

    def is_pure(self, name: str) -> bool:
        """Whether calling it again does no harm: it says so, or it only reads."""
        found = self._spec(name)
        return (name in SIGNATURES and SIGNATURES[name].reads) if found is None else found.pure

    def needs(self, name: str, parameter: str | int) -> bool:
        """Whether a playbook in Python does not take "not given" for a parameter, by its name or position."""
        found = self._spec(name)
        if found is None or found.kind != "python":
            return False
        return any(param.needs_value for at, param in enumerate(found.params) if parameter in (at, param.name))

    async def _arguments(self, line: str, part: steps.Call) -> tuple[list[Any], dict[str, Any]]:
        """The arguments of a call: exact ones evaluated, the others asked for together."""
        params = self._params(part.name)
        given = [(self._parameter(index, argument, params), argument) for index, argument in enumerate(part.arguments)]
        wanted: dict[str, tuple[str, str]] = {}
        values: dict[str, Any] = {}
        for name, argument in given:
            own = self._own_parameter(argument.value)
            if own is not None:
                values[name] = self._work.names()[own]
            elif isinstance(argument.value, steps.Prose):
                wanted[name] = (argument.value.text, _type_of(params, name))
            else:
                values[name] = await self._work.evaluate(argument.value)
        missing = [param for param in params or () if param.default is None and param.name not in (*values, *wanted)]
        known = self._work.names()
        for param in missing:
            if param.name in known:
                values[param.name] = known[param.name]
            else:
                wanted[param.name] = (part.instruction or f"what {param.name} is by the conversation", param.type or "")
        if wanted:
            question = self._questioner.arguments(line, part.name, wanted, known)
            values |= await self._exchange.answer(question)
        if params is None:
            args = [values[name] for name, argument in given if not argument.name]
            return args, {name: values[name] for name, argument in given if argument.name}
        return [], values

    def _own_parameter(self, value: steps.Operand) -> str | None:
        """The parameter of this playbook that an argument names without its `$`; None where it names none."""
        name = value.text.strip() if isinstance(value, steps.Prose) else ""
        return name if name in self._frame.state.kwargs and name in self._work.names() else None

    @staticmethod
    def _parameter(index: int, argument: steps.CallArgument, params: Sequence[Param] | None) -> str:
        if argument.name:
            return argument.name
        return params[index].name if params is not None and index < len(params) else f"argument_{index + 1}"

    def _params(self, name: str) -> Sequence[Param] | None:
        """The parameters of a playbook; None for a built-in, and where nobody knows them."""
        found = self._spec(name)
        return None if found is None or name in SIGNATURES or found.meeting else found.params

    def _spec(self, name: str) -> PlaybookSpec | None:
        owner, _, playbook = name.rpartition(".")
        program = self._context.servers.equipped(self._context.program)
        agent: AgentSpec | None = program.agent(owner or self._frame.agent.klass)
        return agent.playbook(playbook) if agent is not None else None

    async def informed(self, part: Asking) -> Asking:
        """An instruction whose prose has the results of its exact calls: they are made now."""
        name = PROSE_OF[type(part)]
        operand = getattr(part, name)
        if not isinstance(operand, steps.Prose) or not operand.calls:
            return part
        changed: dict[str, Any] = {name: await self._looked_up(operand)}
        return replace(part, **changed)

    async def _looked_up(self, prose: steps.Prose) -> steps.Prose:
        text = prose.text
        for call in prose.calls:
            known = all(self._spec(name) is not None for name in call.called)
            if known and call.names <= self._work.names().keys():
                gave = shown_value(await self._work.evaluate(call), MAX_NOTE_CHARS)
                named = f"{call.source.partition('(')[0]} (which gave {gave})"
                text = text.replace(f"{{{call.source}}}", gave).replace(call.source, named)
        return steps.Prose(text)

    async def evaluate_or_ask(self, operand: steps.Operand, what: str, kind: str, line: str) -> Any:
        if isinstance(operand, Expression):
            return await self._work.evaluate(operand)
        told = await self._looked_up(operand)
        question = ValueQuestion((line, "operand"), f"Give {what}: {told.text}.", {"value": kind})
        return (await self._exchange.answer(question))["value"]

    async def items(self, loop: steps.Loop, line: str) -> Any:
        """What a loop goes through: of a text, what the noun of the loop means; a model says which parts these are."""
        what, each = "the items, in order", loop.variable
        items = await self.evaluate_or_ask(loop.over, what, "list", line)
        if isinstance(items, str) and items and each is not None and not loop.by_letters:
            parts = steps.Prose(f"each {each.name} of {expression_text(loop.over)}")
            return await self.evaluate_or_ask(parts, what, "list", line)
        return items


def _type_of(params: Sequence[Param] | None, name: str) -> str:
    return next((param.type or "" for param in params or () if param.name == name), "")


def handles_failure(course: Course, notes: Sequence[str], line: str) -> bool:
    """Whether a program handles the failure of a call: in a condition after it, or in a note."""
    node = course.node(line)
    behind = node.beside[node.beside.index(line) + 1 :]
    following = [course.node(other).instruction.head for other in behind]
    return any(isinstance(head, steps.Condition) and head.of_failure for head in following) or any(
        speaks_of_failure(note) for note in notes
    )
