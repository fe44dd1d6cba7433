"""The parts of a program that a playbook in execution depends on, as short texts that can be compared after a change.

A playbook's version is "<kind> <signature> <code>", then for every step "<line>=<digest>". Digests are the first 8
letters of SHA-256: they tell an edit, not an attack.
"""

from __future__ import annotations

import ast
import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache

from msgspec import Struct

from runtime.language.program import AgentSpec, PlaybookSpec, Program

_DIGEST_CHARS = 8


class FrameVersion(Struct, frozen=True):
    """The version with which a frame was started. `code` is "" without Python; `steps` are digests by line."""

    kind: str
    signature: str
    code: str
    steps: Mapping[str, str]

    @classmethod
    def read(cls, text: str) -> FrameVersion:
        """The version in a text; one of another form, as of gateways of long ago, is none that a playbook has now."""
        if text.count(" ") < 2:
            return cls(text, "", "", {})
        kind, signature, code, *steps = text.split(" ")
        return cls(kind, signature, code, dict(step.split("=") for step in steps))


def version_of(agent: AgentSpec, playbook: PlaybookSpec) -> str:
    """The version of a playbook: its signature, its steps, and for Python all code that it can reach."""
    code = _code(agent, playbook) if playbook.kind == "python" else ""
    steps = [f"{step.line}={_digest(step.op, step.text)}" for step in playbook.walk_steps()]
    params = [[param.name, param.state] for param in playbook.params]
    kind = "llm.walked" if playbook.walked else playbook.kind
    return " ".join([kind, _digest(params, playbook.meeting), code, *steps])


def stands_on(location: str) -> Iterator[str]:
    """The lines of the step at `location` ("Main:02.01:QUE") and of the steps that it is part of."""
    parts = location.split(":")[1].split(".")
    for count in range(1, len(parts) + 1):
        yield ".".join(parts[:count])


def outline(program: Program) -> dict[str, str]:
    """A digest of all that is written of each playbook, without servers' tools and extensions' calls."""
    return {
        f"{agent.name}.{playbook.name}": _digest(
            version_of(agent, playbook),
            playbook.description,
            playbook.notes,
            [[trigger.code, trigger.kind, trigger.text] for trigger in playbook.triggers],
            [[param.name, param.type, param.default] for param in playbook.params],
        )
        for agent in program.agents
        if not agent.kind.on_server
        for playbook in agent.playbooks
        if playbook.kind != "extension"
    }


def differences(old: Mapping[str, str], new: Mapping[str, str]) -> dict[str, list[str]]:
    """The `changed`, `added` and `removed` playbooks by name; empty lists are left out."""
    found = {
        "changed": [name for name in new if name in old and old[name] != new[name]],
        "added": [name for name in new if name not in old],
        "removed": [name for name in old if name not in new],
    }
    return {kind: [name.rpartition(".")[2] for name in names] for kind, names in found.items() if names}


def _code(agent: AgentSpec, playbook: PlaybookSpec) -> str:
    """A digest of a Python playbook and what all playbooks of its agent share, without comments and layout."""
    sources = tuple(fence.source for fence in agent.fences)
    return _codes(sources, frozenset(other.name for other in agent.playbooks)).get(playbook.name, "")


@lru_cache(maxsize=256)
def _codes(sources: tuple[str, ...], playbooks: frozenset[str]) -> Mapping[str, str]:
    """The digests of all playbooks in an agent's code. Cached, because every returning session asks."""
    shared: list[str] = []
    own: dict[str, list[str]] = {}
    for node in (node for source in sources for node in ast.parse(source).body):
        kept = shared
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name in playbooks:
            kept = own.setdefault(node.name, [])
        kept.append(ast.dump(node))
    common = _digest(*shared)
    return {name: _digest(common, *nodes) for name, nodes in own.items()}


def _digest(*parts: object) -> str:
    text = json.dumps(parts, ensure_ascii=False)
    return hashlib.sha256(text.encode(errors="replace")).hexdigest()[:_DIGEST_CHARS]


def listed(names: Sequence[str], most: int = 3) -> str:
    """The first names, and the number of further ones."""
    rest = len(names) - most
    return ", ".join(names[:most]) + (f" (+{rest})" if rest > 0 else "")
