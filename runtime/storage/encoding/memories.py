"""The stored form of memories: what is remembered and whom it is about may be sealed; ids, owners and times stay
readable."""

from __future__ import annotations

import base64
import json
from dataclasses import replace

from runtime.core.errors import ContentLocked
from runtime.core.ids import SessionId
from runtime.storage.encoding.codec import to_json
from runtime.storage.encoding.sealing import AssociatedData, Sealing, key_of
from runtime.stores.memories import Memory, Scope


class MemoryForm:
    """Writes and reads memories as `sealing` has it."""

    def __init__(self, sealing: Sealing) -> None:
        self._sealing = sealing

    def write(self, memory: Memory) -> str:
        """A memory as JSON, without its number."""
        content = to_json([memory.about, memory.text])
        return to_json(
            {
                "id": memory.id,
                "owner": memory.owner,
                "at": memory.made_s,
                "conversation": memory.conversation,
                "session": memory.session,
                "message": memory.message,
                "replaces": memory.replaces,
                "content": self._sealing.of(memory.conversation).seal(_binding(memory), content),
            }
        )

    def read(self, scope: Scope, number: int, written: str) -> Memory:
        """The inverse of `write`. Raises ContentLocked for one that cannot be opened."""
        data = json.loads(written)
        hollow = Memory(
            data["id"],
            scope,
            data["owner"],
            "",
            "",
            data["at"],
            data["conversation"],
            SessionId(data["session"]),
            data["message"],
            tuple(data["replaces"]),
            number,
        )
        about, text = json.loads(self._sealing.open(_binding(hollow), data["content"]))
        return replace(hollow, about=about, text=text)

    def owner(self, written: str) -> str:
        """Whose memory it is, whether or not it can be opened."""
        return str(json.loads(written)["owner"])

    def id(self, written: str) -> str:
        """Its id, likewise."""
        return str(json.loads(written)["id"])

    def key_of(self, written: str) -> str:
        """The id of the key of a memory; "" for an unsealed one."""
        return key_of(json.loads(written)["content"])

    def anew(self, scope: Scope, written: str) -> str:
        """A memory in the current form; as it is, where it cannot be opened."""
        try:
            return self.write(self.read(scope, 0, written))
        except ContentLocked:
            return written

    def write_vector(self, memory: Memory, model: str, vector: bytes) -> str:
        """What a memory means to a model, as JSON; sealed where the memory is."""
        content = self._sealing.of(memory.conversation).seal(
            _vector_binding(memory.scope, memory.id, model), base64.b64encode(vector).decode("ascii")
        )
        return to_json({"model": model, "conversation": memory.conversation, "content": content})

    def read_vector(self, memory: Memory, model: str, written: str) -> bytes | None:
        """The inverse of `write_vector`; None for the vector of another model, and where it cannot be opened."""
        data = json.loads(written)
        if data["model"] != model:
            return None
        try:
            content = self._sealing.open(_vector_binding(memory.scope, memory.id, model), data["content"])
        except ContentLocked:
            return None
        return base64.b64decode(content)

    def vector_anew(self, scope: Scope, id_: str, written: str) -> str:
        """The vector of a memory in the current form; as it is, where it cannot be opened."""
        data = json.loads(written)
        binding = _vector_binding(scope, id_, data["model"])
        try:
            content = self._sealing.open(binding, data["content"])
        except ContentLocked:
            return written
        return to_json({**data, "content": self._sealing.of(data["conversation"]).seal(binding, content)})


def _vector_binding(scope: Scope, id_: str, model: str) -> AssociatedData:
    return AssociatedData(f"memory vectors {scope.key}", ("vector", id_, model))


def _binding(memory: Memory) -> AssociatedData:
    return AssociatedData(f"memories {memory.scope.key}", ("memory", memory.id, memory.owner, repr(memory.made_s)))
