"""A server on loopback that writes down recordings and speaks texts by OpenAI's protocol, as a script says.

It refuses what the protocol refuses (https://platform.openai.com/docs/api-reference/audio): a file without an ending
that it knows, `verbose_json` for models whose name begins with `gpt-`, more than 4,096 characters to speak.
"""

import json
from email import message_from_bytes
from email.policy import HTTP
from typing import Any

from anyio.abc import SocketStream
from msgspec import Struct

from tests.fakes.models.openai_server import OpenAIServer, _send_json
from tests.fakes.models.sounds import opus

_ENDINGS = ("flac", "mp3", "mp4", "mpeg", "mpga", "m4a", "ogg", "wav", "webm")


class Heard(Struct, frozen=True):
    """What the server makes of the next recording. `body` is sent as it is; `hold` waits for `release`, and `gone` ends
    the connection without an answer."""

    text: str = ""
    language: str = "english"
    status: int = 200
    body: bytes | None = None
    hold: bool = False
    gone: bool = False


class VoiceServer(OpenAIServer):
    """`recordings` are what was sent, with the fields of each; `spoken` are the requests to speak."""

    def __init__(self, *heard: Heard) -> None:
        super().__init__()
        self.recordings: list[dict[str, Any]] = []
        self.spoken: list[dict[str, Any]] = []
        self.speech: bytes | None = None
        self.speech_status = 200
        self.holds_speech = False
        self._heard = list(heard)

    def hears(self, *heard: Heard) -> None:
        """Put answers at the end of the script; the last one repeats."""
        self._heard.extend(heard)

    def forget_first(self) -> None:
        """Go on with the next answer, where the last one would repeat."""
        del self._heard[0]

    async def _respond(
        self, stream: SocketStream, method: str, path: str, headers: dict[str, str], body: bytes
    ) -> None:
        self.headers.append(headers)
        if (method, path) == ("POST", "/v1/audio/transcriptions"):
            await self._transcribe(stream, _fields(headers["content-type"], body))
        elif (method, path) == ("POST", "/v1/audio/speech"):
            await self._speak(stream, json.loads(body))
        else:
            await super()._respond(stream, method, path, headers, body)

    async def _transcribe(self, stream: SocketStream, given: dict[str, Any]) -> None:
        self.recordings.append(given)
        self._note()
        if str(given.get("filename", "")).rpartition(".")[2] not in _ENDINGS or "model" not in given:
            await _refuse(stream, "Invalid file format.")
            return
        if given["model"].startswith("gpt-") and given.get("response_format") == "verbose_json":
            await _refuse(stream, f"response_format 'verbose_json' is not compatible with model '{given['model']}'.")
            return
        heard = self._heard.pop(0) if len(self._heard) > 1 else self._heard[0]
        if heard.hold:
            await self._hold()
        if heard.gone:
            return
        if heard.body is not None:
            await _send(stream, heard.status, "application/json", heard.body)
        elif heard.status != 200:
            await _send_json(stream, heard.status, {"error": {"message": f"scripted {heard.status}"}})
        elif given.get("response_format") == "verbose_json":
            told = {"task": "transcribe", "language": heard.language, "duration": 3.0, "text": heard.text}
            await _send_json(stream, 200, told)
        else:
            used = {"type": "tokens", "input_tokens": 30, "output_tokens": 5, "total_tokens": 35}
            await _send_json(stream, 200, {"text": heard.text, "usage": used})

    async def _speak(self, stream: SocketStream, asked: dict[str, Any]) -> None:
        self.spoken.append(asked)
        self._note()
        if not asked.get("voice") or not 0 < len(asked["input"]) <= 4096:
            await _refuse(stream, "input must have 1 to 4096 characters, and a voice is required.")
            return
        if self.holds_speech:
            await self._hold()
        if self.speech_status != 200:
            await _send_json(stream, self.speech_status, {"error": {"message": f"scripted {self.speech_status}"}})
            return
        data = opus(2.0) if self.speech is None else self.speech
        await _send(stream, 200, "audio/ogg", data)


def _fields(content_type: str, body: bytes) -> dict[str, Any]:
    """The fields of a form, the file's with its name, type and length."""
    form = message_from_bytes(b"Content-Type: " + content_type.encode() + b"\r\n\r\n" + body, policy=HTTP)
    found: dict[str, Any] = {}
    for part in form.iter_parts():
        name, data = part.get_param("name", header="content-disposition"), part.get_payload(decode=True)
        assert isinstance(data, bytes)
        if part.get_filename() is None:
            found[str(name)] = data.decode()
        else:
            found |= {"filename": part.get_filename(), "type": part.get_content_type(), "data": data}
    return found


async def _refuse(stream: SocketStream, text: str) -> None:
    await _send_json(stream, 400, {"error": {"message": text, "type": "invalid_request_error", "code": None}})


async def _send(stream: SocketStream, status: int, media_type: str, body: bytes) -> None:
    head = f"HTTP/1.1 {status} OK\r\nContent-Type: {media_type}\r\nContent-Length: {len(body)}\r\n"
    await stream.send(head.encode() + b"Connection: close\r\n\r\n" + body)
