"""Texts that grow, as the protocol has them: artifacts that come in pieces."""

from __future__ import annotations

from collections.abc import Iterator

from a2a.types import Artifact, Part, TaskArtifactUpdateEvent
from google.protobuf.json_format import ParseDict
from google.protobuf.struct_pb2 import Struct

from gateway.clients.tasks.service import ClientTask

UTTERANCE = "urn:parley:utterance"
"""In the metadata of an artifact: it is what an agent says, and no result. The message of the same id has it whole."""

_NAME = "said"


def growing_artifacts(task: ClientTask) -> Iterator[Artifact]:
    """What is being said now, as far as it is written."""
    return (_artifact(task, page, text) for page, text in task.view.growing.items())


class GrowingTexts:
    """Lengths of the texts that a follower of a task already has."""

    def __init__(self, task: ClientTask, *, anew: bool = False) -> None:
        """Who follows has been given the task as it is; with `anew` nobody knows how much of its texts they have, so
        that the first piece of each is the whole text, in the place of what they have."""
        self._told: dict[str, str | None] = dict.fromkeys(task.view.growing) if anew else {**task.view.growing}

    def updates(
        self, task: ClientTask, context: str, *, finished_alone: bool = False
    ) -> Iterator[TaskArtifactUpdateEvent]:
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

    def _update(self, task: ClientTask, context: str, page: str, text: str, *, last: bool) -> TaskArtifactUpdateEvent:
        """A piece to append, or the whole text where what was told is not its beginning."""
        told = self._told.get(page)
        append = told is not None and text.startswith(told)
        piece = text[len(told) :] if told is not None and append else text
        artifact = _artifact(task, page, piece)
        return TaskArtifactUpdateEvent(
            task_id=task.id, context_id=context, artifact=artifact, append=append, last_chunk=last
        )


def _artifact(task: ClientTask, page: str, text: str) -> Artifact:
    made = Artifact(artifact_id=f"{task.id}.{page}", name=_NAME, parts=[Part(text=text)])
    made.metadata.CopyFrom(ParseDict({UTTERANCE: True}, Struct()))
    return made
