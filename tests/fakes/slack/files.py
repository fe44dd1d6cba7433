"""Files: a place to bring them to, the content, and the message that shows them."""

from collections.abc import Mapping
from typing import Any

from msgspec import Struct

from tests.fakes.slack.conversations import Conversations
from tests.fakes.slack.refusal import Refusal


class Kept(Struct):
    """A file. `channel` is where it is shown; `outside` says that it is kept at another service, `alt` what is on
    it.
    """

    name: str
    length: int
    content: bytes | None = None
    channel: str | None = None
    outside: bool = False
    alt: str = ""


class Files:
    """The files of a workspace by id."""

    def __init__(self, conversations: Conversations) -> None:
        self._conversations = conversations
        self.files: dict[str, Kept] = {}
        self.address = ""

    def given(self, name: str, content: bytes) -> dict[str, Any]:
        """A person's file, as it stands in the event of a message."""
        file_id = f"F{len(self.files) + 1:04d}"
        self.files[file_id] = Kept(name, len(content), content)
        return {"id": file_id, "name": name, "mimetype": "text/plain", "size": len(content)}

    def place(self, params: Mapping[str, Any]) -> dict[str, Any]:
        """files.getUploadURLExternal."""
        length = int(params.get("length") or 0)
        if not length or not params.get("filename"):
            raise Refusal("invalid_arguments")
        file_id = f"F{len(self.files) + 1:04d}"
        self.files[file_id] = Kept(params["filename"], length, alt=params.get("alt_txt", ""))
        return {"upload_url": f"{self.address}/upload/{file_id}", "file_id": file_id}

    def upload(self, file_id: str, content: bytes) -> bool:
        """The content comes; it must be as long as was said."""
        file = self.files.get(file_id)
        if file is None or file.length != len(content):
            return False
        file.content = content
        return True

    def complete(self, params: Mapping[str, Any]) -> dict[str, Any]:
        """files.completeUploadExternal: a message of the bot's, under its own name. A file can be completed once."""
        channel = self._conversations.channel(params, to_write=True, name="channel_id")
        for entry in params["files"]:
            file = self.files.get(entry["id"])
            if file is None or file.content is None or file.channel is not None:
                raise Refusal("file_not_found")
            place = {"thread_ts": params.get("thread_ts")}
            posted = self._conversations.add(channel, params.get("initial_comment") or "", [], place)
            posted.file = entry["id"]
            file.channel = channel.id
        return {"files": [{"id": entry["id"], "title": entry.get("title")} for entry in params["files"]]}

    def info(self, params: Mapping[str, Any]) -> dict[str, Any]:
        file = self.files.get(params.get("file", ""))
        if file is None:
            raise Refusal("file_not_found")
        at = "https://elsewhere.example" if file.outside else self.address
        known = {"id": params["file"], "name": file.name, "size": file.length, "channels": [file.channel]}
        return {"file": known | {"url_private": f"{at}/files/{params['file']}"}}

    def delete(self, params: Mapping[str, Any]) -> dict[str, Any]:
        file = self.files.pop(params.get("file", ""), None)
        if file is None:
            raise Refusal("file_not_found")
        if file.channel is not None:
            messages = self._conversations.open(file.channel).messages
            messages[:] = [message for message in messages if message.file != params["file"]]
        return {}
