"""The playbooks of a program as one session executes them."""

from __future__ import annotations

from collections.abc import Coroutine, Mapping, Sequence
from functools import lru_cache
from typing import Any

from runtime.agents.meeting_host import MeetingHost
from runtime.core.errors import JournalError, PlaybookError, ProgramChanged, StorageError, UnknownTarget
from runtime.core.ids import AgentId
from runtime.core.message import Message
from runtime.execution.calls.table import SIGNATURES
from runtime.execution.execution_context import ExecutionContext
from runtime.execution.frames.frame import Bound, ExecutablePlaybook, Frame
from runtime.execution.frames.signatures import CallShape
from runtime.execution.free.interpreter import FreeInterpreter
from runtime.execution.processor.idle import IdlePlaybook
from runtime.execution.processor.processor import StepProcessor
from runtime.execution.processor.talk import AgentFacts
from runtime.execution.speech.targets import SessionPopulation
from runtime.execution.triggers.kinds import HANDLER, judged_triggers, message_trigger, receives_alone
from runtime.execution.triggers.triggers import declared_types
from runtime.language.pbasm.versions import version_of
from runtime.language.program import AgentSpec, PlaybookSpec, TriggerKind
from runtime.meetings.meeting import AUTOMATIC
from runtime.playbooks.playbook import LLMPlaybook
from runtime.playbooks.python import AgentModule, PlaceholderPython, PythonPlaybook, agents_by_name
from runtime.playbooks.remote import ExtensionPlaybook, RemotePlaybook
from runtime.tape.journal import as_data


class _Itself:
    """Stands for an object that has no hash of its own: two are equal when they are of the same object."""

    __slots__ = ("of",)

    def __init__(self, of: Any) -> None:
        self.of = of

    def __hash__(self) -> int:
        return id(self.of)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Itself) and self.of is other.of


@lru_cache(maxsize=256)
def _call_shapes(of_program: _Itself, of_agent: _Itself) -> Mapping[str, CallShape]:
    """Everything that an agent's replies may call: made once a program, and shared by its sessions."""
    program, agent = of_program.of, of_agent.of
    shapes = {name: signature.shape for name, signature in SIGNATURES.items()}
    for playbook in agent.playbooks:
        shapes[playbook.name] = _shape(playbook)
    for other in program.agents:
        for playbook in other.playbooks:
            if playbook.public or other.name == agent.name:
                shapes[f"{other.name}.{playbook.name}"] = _shape(playbook)
    return shapes


def _shape(playbook: PlaybookSpec) -> CallShape:
    shape = CallShape.of(playbook.params)
    own = [name for name in AUTOMATIC if playbook.meeting and name not in shape.names]
    return CallShape((*shape.names, *own), shape.required)


class MeetingPlaybook:
    """Wraps the playbook that says what its agent does in the meeting."""

    def __init__(self, spec: PlaybookSpec, inner: ExecutablePlaybook, meeting_host: MeetingHost) -> None:
        self.spec = spec
        self.name = inner.name
        self.version = inner.version
        self.kind = inner.kind
        self.adopt = inner.adopt
        self._inner = inner
        self._meeting_host = meeting_host

    def bind(self, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Bound:
        """Bind the arguments that every meeting takes beside the playbook's own."""
        declared = {param.name for param in self.spec.params}
        own = {name: kwargs[name] for name in AUTOMATIC if name in kwargs and name not in declared}
        inner = {name: value for name, value in kwargs.items() if name not in own}
        values, named, variables = self._inner.bind(args, inner)
        try:
            return values, named | as_data(own), variables
        except (TypeError, ValueError) as error:
            raise PlaybookError(f"topic and attendees of {self.name} are texts and lists of names: {error}") from error

    async def run(self, frame: Frame, /) -> Any:
        meeting = await self._meeting_host.enter(frame, self.spec)
        if isinstance(meeting, str):
            return meeting
        try:
            value = await self._inner.run(frame)
        except (StorageError, JournalError):
            raise
        except Exception as error:
            await self._meeting_host.depart(meeting, frame, error)
            raise
        await self._meeting_host.depart(meeting, frame)
        return value


class PlaybookLibrary:
    """Finds executables by agent class and name; python code is loaded once per agent class and session."""

    def __init__(self, context: ExecutionContext, population: SessionPopulation, meeting_host: MeetingHost) -> None:
        self._program = context.program
        self._context = context
        self._population = population
        self._meeting_host = meeting_host
        self._modules: dict[str, AgentModule] = {}
        self._in_python = agents_by_name(context.program.agents)
        self._executables: dict[tuple[str, str], ExecutablePlaybook] = {}

    def find(self, klass: str, name: str) -> ExecutablePlaybook | None:
        """The playbook `name` of an agent class, or the tool `Agent.name` of a remote one."""
        if "." in name:
            klass, _, name = name.partition(".")
        known = self._executables.get((klass, name))
        if known is not None:
            return known
        agent = self._program.agent(klass)
        if agent is not None and klass in self._program.remote_agents:
            self._executables[klass, name] = RemotePlaybook(agent, name, self._context)
            return self._executables[klass, name]
        spec = agent.playbook(name) if agent else None
        if agent is None or (spec is None and name != HANDLER.name):
            return None
        made = self._make(agent, spec or HANDLER)
        if spec is not None and spec.meeting:
            made = MeetingPlaybook(spec, made, self._meeting_host)
        self._executables[klass, name] = made
        return made

    def callee(self, agent: AgentId, name: str) -> tuple[AgentId, ExecutablePlaybook] | None:
        """For `Playbook` or `Agent.Playbook` called by `agent`: whose agent it runs on (made if need be), and it; None
        where there is none. Raises UnknownTarget for another agent's that is not public, PlaybookError for a built-in
        call that the session has not."""
        owner, _, playbook = name.rpartition(".")
        klass = self._context.journal.state.agents[agent].klass
        if not owner or owner == klass or owner in self._program.remote_agents:
            found = self.find(owner or klass, playbook)
            if found is None and name in SIGNATURES:
                raise PlaybookError(f"{name} is not possible here, as in a task or with parley exec")
            return (agent, found) if found is not None else None
        spec = self._program.agent(owner)
        named = spec.playbook(playbook) if spec else None
        if named is None:
            return None
        if not named.public:
            raise UnknownTarget(f"{playbook} of {owner} is not public, so other agents cannot call it")
        found = self.find(owner, playbook)
        return (self._population.ensure(owner), found) if found is not None else None

    def executable(self, klass: str, name: str) -> ExecutablePlaybook:
        """The playbook by which a frame of an agent class is executed. Raises ProgramChanged when there is none now."""
        found = self.find(klass, name)
        if found is None:
            raise ProgramChanged(f"{name} was running here and is no longer in the program")
        return found

    def beginning(self, klass: str) -> Sequence[ExecutablePlaybook]:
        """The playbooks of an agent class with a BGN trigger, in order."""
        return [self._found(klass, spec.name) for spec in self._triggered(klass, TriggerKind.BGN)]

    def receiver(self, klass: str, messages: Sequence[Message]) -> tuple[ExecutablePlaybook, bool] | None:
        """The playbook of an agent class that is executed when messages such as all of these come, and whether it takes
        what was said."""
        agent = self._program.agent(klass)
        for spec in agent.playbooks if agent else ():
            kinds = (message_trigger(trigger.text) for trigger in spec.triggers if receives_alone(spec))
            if any(kind is not None and all(map(kind.fits, messages)) for kind in kinds):
                return self._found(klass, spec.name), bool(spec.params)
        return None

    def handler(self, klass: str) -> ExecutablePlaybook | None:
        """The handler of messages for an idle agent: the model, or the only Python playbook with an EVT trigger."""
        agent = self._program.agent(klass)
        if agent is None:
            return None
        if any(spec.kind == "llm" for spec in agent.playbooks):
            return self._found(klass, HANDLER.name)
        events = [spec for spec in self._triggered(klass, TriggerKind.EVT) if spec.kind == "python"]
        return self._found(klass, events[0].name) if len(events) == 1 else None

    def _triggered(self, klass: str, kind: TriggerKind) -> list[PlaybookSpec]:
        agent = self._program.agent(klass)
        playbooks = agent.playbooks if agent else ()
        return [spec for spec in playbooks if any(trigger.kind is kind for trigger in spec.triggers)]

    def _found(self, klass: str, name: str) -> ExecutablePlaybook:
        found = self.find(klass, name)
        if found is None:
            raise LookupError(f"{klass} has no playbook {name}")
        return found

    def _make(self, agent: AgentSpec, spec: PlaybookSpec) -> ExecutablePlaybook:
        version = version_of(agent, spec)
        if spec.kind == "extension":
            return ExtensionPlaybook(spec, self._context)
        if spec.kind == "llm":
            return LLMPlaybook(spec, version, lambda frame: self._execution(agent, frame, spec))
        return PythonPlaybook(spec, self._module(agent).function(spec.name), version, self._context.contents)

    def _module(self, agent: AgentSpec) -> AgentModule:
        if agent.name not in self._modules:
            self._modules[agent.name] = AgentModule(agent, self._in_python)
        return self._modules[agent.name]

    def _execution(self, agent: AgentSpec, frame: Frame, playbook: PlaybookSpec) -> Coroutine[Any, Any, Any]:
        """The processor of a playbook with steps; a model with statements for all others, but see `IdlePlaybook`."""
        others = [other for other in self._program.agents if other.name != agent.name]
        if self._context.alone and playbook is HANDLER:
            judged = judged_triggers(agent, others, playbook.name)
            return IdlePlaybook(self._context, frame, agent, playbook, judged).run()
        interpreter = FreeInterpreter(
            *(self._context, frame, agent, playbook),
            lambda: _call_shapes(_Itself(self._context.servers.equipped(self._program)), _Itself(agent)),
            PlaceholderPython(lambda: self._module(agent)),
        )
        if not playbook.walked:
            return interpreter.run()
        patterns = {str(p.metadata["pattern"]): p.name for p in agent.playbooks if p.metadata.get("pattern")}
        known = AgentFacts(declared_types(agent), judged_triggers(agent, others, playbook.name), patterns)
        return StepProcessor(self._context, frame, agent, playbook, known, interpreter).run()
