"""Tasks as the protocol writes them, and the messages of clients as orders.

Texts that grow, as the protocol has them: artifacts that come in pieces.

The agent card: what the skills are, and where requests go.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime
from typing import Any

import msgspec
from a2a import types
from a2a.utils.constants import PROTOCOL_VERSION_CURRENT, TransportProtocol
from a2a.utils.errors import ContentTypeNotSupportedError, InvalidParamsError
from google.protobuf.json_format import MessageToDict, ParseDict, ParseError
from google.protobuf.struct_pb2 import Struct, Value

from gateway.clients.tasks.service import ClientTask
from gateway.clients.tasks.view import QuestionOfTask, TaskUtterance
from gateway.version import VERSION
from runtime.core.json_text import with_whole_numbers
from runtime.language.program import PlaybookSpec, Program
from runtime.tape.state import tasks as task_state

Update = types.Task | types.TaskStatusUpdateEvent | types.TaskArtifactUpdateEvent

SKILL = "skill"
"""In the metadata of a message: the id of the skill that is wanted."""

RESULT = "result"

_STATES: Mapping[task_state.TaskStatus, types.TaskState] = {
    "submitted": types.TaskState.TASK_STATE_SUBMITTED,
    "working": types.TaskState.TASK_STATE_WORKING,
    "input_required": types.TaskState.TASK_STATE_INPUT_REQUIRED,
    "completed": types.TaskState.TASK_STATE_COMPLETED,
    "failed": types.TaskState.TASK_STATE_FAILED,
    "canceled": types.TaskState.TASK_STATE_CANCELED,
    "rejected": types.TaskState.TASK_STATE_REJECTED,
}

UTTERANCE = "urn:parley:utterance"
"""In the metadata of an artifact: it is what an agent says, and no result. The message of the same id has it whole."""

_NAME = "said"

JSONRPC = "/a2a/jsonrpc"
REST = "/a2a/v1"

TEXT, JSON = "text/plain", "application/json"

ONCE = "urn:parley:once-by-message-id"
"""The extension of an agent that does once what comes under one messageId."""

_FLAG = "a2a"
_SCHEME = "client"


class Skill(msgspec.Struct, frozen=True):
    """A public playbook of a program that says `a2a: true`."""

    program: str
    agent: str
    playbook: PlaybookSpec

    @property
    def id(self) -> str:
        return f"{self.program}.{self.agent}.{self.playbook.name}"


def skills_of(programs: Iterable[Program]) -> Mapping[str, Skill]:
    return {skill.id: skill for program in programs if exposed(program) for skill in _skills(program)}


def exposed(program: Program) -> bool:
    return program.metadata.get(_FLAG) is True


def card_of(skills: Mapping[str, Skill], base_url: str, *, pushes: bool) -> types.AgentCard:
    interfaces = ((TransportProtocol.JSONRPC, JSONRPC), (TransportProtocol.HTTP_JSON, REST))
    return types.AgentCard(
        name="Parley",
        description="Agents written in natural language. Each skill is a playbook, executed as a task.",
        version=VERSION,
        supported_interfaces=[
            types.AgentInterface(
                url=f"{base_url}{path}", protocol_binding=binding.value, protocol_version=PROTOCOL_VERSION_CURRENT
            )
            for binding, path in interfaces
        ],
        capabilities=types.AgentCapabilities(
            streaming=True,
            push_notifications=pushes,
            extended_agent_card=False,
            extensions=[types.AgentExtension(uri=ONCE, description="The same messageId again is the same task.")],
        ),
        security_schemes={
            _SCHEME: types.SecurityScheme(
                http_auth_security_scheme=types.HTTPAuthSecurityScheme(scheme="Bearer", description="A client's token.")
            )
        },
        security_requirements=[types.SecurityRequirement(schemes={_SCHEME: types.StringList()})],
        default_input_modes=[TEXT, JSON],
        default_output_modes=[TEXT, JSON],
        skills=[_described(skill) for skill in skills.values()],
    )


def _skills(program: Program) -> Iterator[Skill]:
    for agent in program.agents:
        yield from (Skill(program.name, agent.name, playbook) for playbook in agent.playbooks if playbook.public)


def _described(skill: Skill) -> types.AgentSkill:
    playbook = skill.playbook
    takes = ", ".join(
        param.name
        + (f": {param.type}" if param.type else "")
        + ("" if param.default is None else f" = {param.default}")
        for param in playbook.params
    )
    about = playbook.description or f"{playbook.name} of {skill.agent}."
    return types.AgentSkill(
        id=skill.id,
        name=f"{skill.agent}: {playbook.name}",
        description=f"{about}\nArguments: {takes}." if takes else about,
        tags=[skill.program, skill.agent],
    )


class Mark(msgspec.Struct, frozen=True):
    """The position up to which somebody has been told of a task."""

    seq: int
    status: str
    ask: str | None

    @classmethod
    def of(cls, task: ClientTask) -> Mark:
        """Everything up to now is told."""
        return cls(task.view.seq, task.view.status, None if task.question is None else task.question.ask)


class Named(msgspec.Struct, frozen=True):
    """The names of a task: its id, and what it belongs to for its client."""

    task: str
    context: str

    @classmethod
    def of(cls, task: ClientTask, context: str | None = None) -> Named:
        """Of a task that has not begun, `context` is known to who ordered it alone."""
        home = task.view.home
        kept = context if home is None else home.thread
        return cls(task.id, kept or task.id)

    def message(self, id_: str, role: types.Role, *parts: types.Part) -> types.Message:
        return types.Message(message_id=id_, task_id=self.task, context_id=self.context, role=role, parts=parts)


def task_of(task: ClientTask, named: Named) -> types.Task:
    """A task with all that was said in it, and its result."""
    found = types.Task(id=named.task, context_id=named.context, status=_status(task, named))
    found.history.extend(_said(named, said) for said in task.view.said)
    found.artifacts.extend(_artifact(task, page, text) for page, text in task.view.growing.items())
    found.artifacts.extend(_artifacts(task))
    return found


def updates_of(task: ClientTask, named: Named, told: Mark) -> Iterator[Update]:
    """What is new of a task since `told`, in order."""
    now = Mark.of(task)
    changed = (now.status, now.ask) != (told.status, told.ask)
    if changed and now.status == "working":
        changed = False
        yield types.TaskStatusUpdateEvent(task_id=named.task, context_id=named.context, status=_status(task, named))
    for said in task.view.said:
        if said.own and said.seq > told.seq:
            status = _stamped(
                types.TaskStatus(state=types.TaskState.TASK_STATE_WORKING, message=_said(named, said)), said.at
            )
            yield types.TaskStatusUpdateEvent(task_id=named.task, context_id=named.context, status=status)
    if changed:
        for artifact in _artifacts(task):
            yield types.TaskArtifactUpdateEvent(
                task_id=named.task, context_id=named.context, artifact=artifact, last_chunk=True
            )
        yield types.TaskStatusUpdateEvent(task_id=named.task, context_id=named.context, status=_status(task, named))


def text_of(message: types.Message) -> str:
    """The words of a message, and the data that it has instead. Raises ContentTypeNotSupportedError."""
    text, data = _content(message)
    return text or (json.dumps(data, ensure_ascii=False) if data else "")


def order_of(message: types.Message, skills: Mapping[str, Skill], within: Mapping[str, Any]) -> dict[str, Any]:
    """The order that a message is, to one of the skills. `within` is more of the order.

    Data are arguments by name; a text is the first parameter that they do not have. Raises InvalidParamsError.
    """
    skill = _wanted(message, skills)
    text, arguments = _content(message)
    if text:
        free = next((param.name for param in skill.playbook.params if param.name not in arguments), None)
        if free is None:
            raise InvalidParamsError(f"{skill.id} takes no text; give its arguments as data, by their names.")
        arguments = {**arguments, free: text}
    return {
        "program": skill.program,
        "agent": skill.agent,
        "playbook": skill.playbook.name,
        "arguments": arguments,
        **within,
    }


def _wanted(message: types.Message, skills: Mapping[str, Skill]) -> Skill:
    named = MessageToDict(message.metadata).get(SKILL)
    if named is None and len(skills) == 1:
        return next(iter(skills.values()))
    skill = skills.get(named) if isinstance(named, str) else None
    if skill is None:
        known = ", ".join(skills) or "none"
        raise InvalidParamsError(
            f'Name a skill as "{SKILL}" in the metadata of the message. For you there are: {known}.'
        )
    return skill


def _content(message: types.Message) -> tuple[str, dict[str, Any]]:
    texts: list[str] = []
    data: dict[str, Any] = {}
    for part in message.parts:
        match part.WhichOneof("content"):
            case "text":
                texts.append(part.text)
            case "data":
                value = with_whole_numbers(MessageToDict(part.data))
                if not isinstance(value, dict):
                    raise InvalidParamsError("Data is an object: arguments by their names.")
                data |= value
            case _:
                raise ContentTypeNotSupportedError("Only texts and data are taken, no files.")
    return "\n".join(texts), data


def _status(task: ClientTask, named: Named) -> types.TaskStatus:
    status = types.TaskStatus(state=_STATES[task.view.status])
    if task.question is not None:
        status.message.CopyFrom(_asked(named, task.question))
    elif task.view.error is not None:
        part = types.Part(text=task.view.error)
        told = named.message(f"{named.task}.error", types.Role.ROLE_AGENT, part)
        if task.view.error_type:
            told.metadata.update({"error_type": task.view.error_type, "raised_at": task.view.raised_at})
        status.message.CopyFrom(told)
    return _stamped(status, task.view.changed_at)


def _stamped(status: types.TaskStatus, at: datetime | None) -> types.TaskStatus:
    if at is not None:
        status.timestamp.FromDatetime(at)
    return status


def _asked(named: Named, question: QuestionOfTask) -> types.Message:
    parts = [types.Part(text=question.text)]
    if question.options:
        parts.append(types.Part(data=_value({"options": list(question.options)})))
    return named.message(question.ask, types.Role.ROLE_AGENT, *parts)


def _said(named: Named, said: TaskUtterance) -> types.Message:
    role = types.Role.ROLE_AGENT if said.own else types.Role.ROLE_USER
    return named.message(said.id or f"{named.task}.{said.page or said.seq}", role, types.Part(text=said.text))


def _artifacts(task: ClientTask) -> list[types.Artifact]:
    if task.view.status != "completed" or task.view.value is None:
        return []
    value = task.view.value
    part = types.Part(text=value) if isinstance(value, str) else types.Part(data=_value(value))
    return [types.Artifact(artifact_id=RESULT, name=RESULT, parts=[part])]


def _value(data: Any) -> Value:
    try:
        return ParseDict(data, Value())
    except ParseError:  # deeper than the protocol's library reads
        return Value(string_value=json.dumps(data, ensure_ascii=False))


class GrowingTexts:
    """Lengths of the texts that a follower of a task already has."""

    def __init__(self, task: ClientTask, *, anew: bool = False) -> None:
        """Who follows has been given the task as it is; with `anew` nobody knows how much of its texts they have, so
        that the first piece of each is the whole text, in the place of what they have."""
        self._told: dict[str, str | None] = dict.fromkeys(task.view.growing) if anew else {**task.view.growing}

    def updates(
        self, task: ClientTask, context: str, *, finished_alone: bool = False
    ) -> Iterator[types.TaskArtifactUpdateEvent]:
        """The pieces that are new, and the last ones of texts that are finished; with `finished_alone` only those."""
        for page, text in () if finished_alone else task.view.growing.items():
            if self._told.get(page) != text:
                yield self._update(task, context, page, text, last=False)
                self._told[page] = text
        finished = self._told.keys() - task.view.growing.keys()
        for said in task.view.said if finished else ():
            if said.page in finished:
                yield self._update(task, context, said.page, said.text, last=True)
                del self._told[said.page]

    def _update(
        self, task: ClientTask, context: str, page: str, text: str, *, last: bool
    ) -> types.TaskArtifactUpdateEvent:
        """A piece to append, or the whole text where what was told is not its beginning."""
        told = self._told.get(page)
        append = told is not None and text.startswith(told)
        piece = text[len(told) :] if told is not None and append else text
        artifact = _artifact(task, page, piece)
        return types.TaskArtifactUpdateEvent(
            task_id=task.id, context_id=context, artifact=artifact, append=append, last_chunk=last
        )


def _artifact(task: ClientTask, page: str, text: str) -> types.Artifact:
    made = types.Artifact(artifact_id=f"{task.id}.{page}", name=_NAME, parts=[types.Part(text=text)])
    made.metadata.CopyFrom(ParseDict({UTTERANCE: True}, Struct()))
    return made
