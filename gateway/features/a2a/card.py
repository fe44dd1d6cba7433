"""The agent card: what the skills are, and where requests go."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from a2a.types import (
    AgentCapabilities,
    AgentCard,
    AgentExtension,
    AgentInterface,
    AgentSkill,
    HTTPAuthSecurityScheme,
    SecurityRequirement,
    SecurityScheme,
    StringList,
)
from a2a.utils.constants import PROTOCOL_VERSION_CURRENT, TransportProtocol

from gateway.version import VERSION
from runtime.language.program import AgentSpec, PlaybookSpec, Program

JSONRPC = "/a2a/jsonrpc"
REST = "/a2a/v1"

TEXT, JSON = "text/plain", "application/json"

ONCE = "urn:parley:once-by-message-id"
"""The extension of an agent that does once what comes under one messageId."""

_FLAG = "a2a"
_SCHEME = "client"


@dataclass(frozen=True, slots=True)
class Skill:
    """A public playbook of a program that says `a2a: true`."""

    program: str
    agent: str
    playbook: PlaybookSpec

    @property
    def id(self) -> str:
        """As messages name it."""
        return f"{self.program}.{self.agent}.{self.playbook.name}"


def skills_of(programs: Iterable[Program]) -> Mapping[str, Skill]:
    """The skills of all programs, by their ids."""
    return {skill.id: skill for program in programs if exposed(program) for skill in _skills(program)}


def exposed(program: Program) -> bool:
    """Whether a program's public playbooks are skills."""
    return program.metadata.get(_FLAG) is True


def card_of(skills: Mapping[str, Skill], base_url: str, *, pushes: bool) -> AgentCard:
    """The card of a gateway that is reached at `base_url`."""
    interfaces = ((TransportProtocol.JSONRPC, JSONRPC), (TransportProtocol.HTTP_JSON, REST))
    return AgentCard(
        name="Parley",
        description="Agents written in natural language. Each skill is a playbook, executed as a task.",
        version=VERSION,
        supported_interfaces=[
            AgentInterface(
                url=f"{base_url}{path}", protocol_binding=binding.value, protocol_version=PROTOCOL_VERSION_CURRENT
            )
            for binding, path in interfaces
        ],
        capabilities=AgentCapabilities(
            streaming=True,
            push_notifications=pushes,
            extended_agent_card=False,
            extensions=[AgentExtension(uri=ONCE, description="The same messageId again is the same task.")],
        ),
        security_schemes={
            _SCHEME: SecurityScheme(
                http_auth_security_scheme=HTTPAuthSecurityScheme(scheme="Bearer", description="A client's token.")
            )
        },
        security_requirements=[SecurityRequirement(schemes={_SCHEME: StringList()})],
        default_input_modes=[TEXT, JSON],
        default_output_modes=[TEXT, JSON],
        skills=[_described(skill) for skill in skills.values()],
    )


def _skills(program: Program) -> Iterator[Skill]:
    for agent in program.agents:
        yield from (Skill(program.name, agent.name, playbook) for playbook in _public(agent))


def _public(agent: AgentSpec) -> Iterator[PlaybookSpec]:
    return (playbook for playbook in agent.playbooks if playbook.public)


def _described(skill: Skill) -> AgentSkill:
    playbook = skill.playbook
    takes = ", ".join(
        param.name
        + (f": {param.type}" if param.type else "")
        + ("" if param.default is None else f" = {param.default}")
        for param in playbook.params
    )
    about = playbook.description or f"{playbook.name} of {skill.agent}."
    return AgentSkill(
        id=skill.id,
        name=f"{skill.agent}: {playbook.name}",
        description=f"{about}\nArguments: {takes}." if takes else about,
        tags=[skill.program, skill.agent],
    )
