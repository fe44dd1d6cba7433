"""The stored form of calls of models: compressed, since prompts repeat themselves, and sealed as their session is."""

from __future__ import annotations

import base64
import json
import zlib
from dataclasses import asdict
from datetime import datetime

from runtime.core.errors import ContentLocked
from runtime.core.ids import SessionId
from runtime.storage.encoding.codec import to_json
from runtime.storage.encoding.sealing import AssociatedData, Sealing, key_of, session_home
from runtime.stores.model_calls import ModelCall, Prompted


def call_to_text(call: ModelCall, sealing: Sealing) -> str:
    data = {**asdict(call), "at": call.at.isoformat()}
    return _text(sealing, call.session, zlib.compress(to_json(data).encode()))


def call_from_text(session: SessionId, text: str, sealing: Sealing) -> ModelCall:
    """The call of a session. Raises ContentLocked if its key is missing."""
    data = json.loads(zlib.decompress(_opened(session, text, sealing)))
    prompt = tuple(Prompted(one["role"], one["content"], tuple(one["pictures"])) for one in data["prompt"])
    return ModelCall(**{**data, "prompt": prompt, "at": datetime.fromisoformat(data["at"])})


def call_key(text: str) -> str:
    """The id of the key of a sealed call; "" for an unsealed one."""
    return key_of(base64.b64decode(text))


def call_anew(session: SessionId, text: str, sealing: Sealing) -> str:
    """A call in its current form; unchanged if it cannot be opened."""
    try:
        return (
            text
            if sealing.is_current(base64.b64decode(text))
            else _text(sealing, session, _opened(session, text, sealing))
        )
    except ContentLocked:
        return text


def _text(sealing: Sealing, session: SessionId, content: bytes) -> str:
    return base64.b64encode(sealing.seal_bytes(_binding(session), content)).decode("ascii")


def _opened(session: SessionId, text: str, sealing: Sealing) -> bytes:
    return sealing.open_bytes(_binding(session), base64.b64decode(text))


def _binding(session: SessionId) -> AssociatedData:
    return AssociatedData(session_home(session), ("model call",))
