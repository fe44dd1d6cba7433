"""A talk out of a stored conversation: what people did, what they saw, and the answers of the model, by the tape; and
the files that people sent, beside it.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from datetime import UTC
from itertools import count, zip_longest
from pathlib import Path
from types import MappingProxyType

import anyio
from msgspec import Struct

from gateway.talks import talk as forms
from gateway.talks.holding import Holding
from gateway.talks.parsing.document import TalkSource, read_head
from gateway.talks.running import LoadedTalks, TalkLoader
from gateway.talks.staging.answers import LiveAnswers, TalkRecording, write_recordings
from gateway.talks.staging.record import BeatRecord, SeenCall
from gateway.talks.staging.script import AnswerMemory, MemoryAnswers
from gateway.talks.staging.stage import TalkStage
from gateway.talks.staging.tools import kept_tools
from runtime.core.errors import ConfigError, ContentLocked, ProgramError
from runtime.core.files import FILE_URL, FileContent, FileStore, clean_file_name, file_id
from runtime.core.ids import AgentId
from runtime.core.message import MessageType
from runtime.core.plain_text import shortened
from runtime.language.program import Program
from runtime.language.syntax.source import TALKS
from runtime.tape.facts.frames import WaitBegun, WaitEnded
from runtime.tape.facts.people import FileReceived, MessageHeard, PageBegun, PageFinished
from runtime.tape.facts.registry import content_of
from runtime.tape.facts.session import AgentCreated, ExchangeBegun, MessageQueued, SessionBegun, SessionEnded
from runtime.tape.tape import Fact

NO_FILES: Mapping[str, Path] = MappingProxyType({})
_NO_NAME = re.compile(r'[:"\s]+')
_SHOWN_CHARS = 200
_LEAST_WAIT_S = 10.0
"""Shorter pauses pass by themselves in a talk."""

_FOLDER = ".files"
_SEPARATES = re.compile(r"[,:]")
"""Characters that end the name of a file in a talk."""

Contents = Mapping[str, tuple[str, bytes]]
"""Names and contents by url."""


class Saved(Struct, frozen=True):
    markdown: str
    recording: TalkRecording


def acts_of(facts: Sequence[Fact], files: Mapping[str, Path] = NO_FILES) -> list[forms.TalkAct]:
    """What people did, in order, and the long pauses between; `files` are those that they sent, by url."""
    contents = [content_of(fact.kind, fact.data) for fact in facts]
    pressed = {
        one.message.platform_id
        for one in contents
        if isinstance(one, MessageQueued) and one.message.type == MessageType.CHOICE
    }
    whole = {one.platform_id: one.text for one in contents if isinstance(one, MessageHeard)}
    found: list[forms.TalkAct] = []
    sent: list[Path] = []
    elsewhere: dict[AgentId, str] = {}
    known: set[str | None] = set()
    waits: dict[tuple[str, str], float] = {}
    for fact, one in zip(facts, contents, strict=True):
        match one:
            case ExchangeBegun() | MessageHeard() if one.platform_id not in known:
                known.add(one.platform_id)
                name = _NO_NAME.sub(" ", one.name)
                if one.platform_id in pressed:
                    found.append(forms.PressedChoice(0, name, one.text))
                else:
                    text = whole.get(one.platform_id, one.text)
                    found.append(forms.PersonLine(0, name, text or ("" if sent else "/start"), files=tuple(sent)))
                sent.clear()
            case AgentCreated() if one.participant:
                elsewhere[one.id] = one.klass
            case MessageQueued() if one.message.sender_id in elsewhere and one.message.id not in known:
                known.add(one.message.id)
                found.append(forms.PlayedAnswer(0, elsewhere[AgentId(one.message.sender_id)], one.message.content))
            case FileReceived() if one.url in files:
                sent.append(files[one.url])
            case WaitBegun() if one.due is not None:
                waits[one.frame, one.pos] = one.due - fact.at.timestamp()
            case WaitEnded() if not one.messages and waits.get((one.frame, one.pos), 0.0) > _LEAST_WAIT_S:
                seconds = waits.pop((one.frame, one.pos))
                found.append(forms.TimePassed(0, seconds, words=f"wait {seconds:g} seconds"))
            case _:
                pass
    return found


class TalkShelf(Struct, frozen=True):
    """The talk file that a talk is added to, with its program; `loaded` is what it has, None where there is no file."""

    path: Path
    head: forms.TalkHead
    program: Program
    loaded: LoadedTalks | None
    beginning: str = ""
    """What a new file begins with."""

    def free_title(self, title: str) -> str:
        """A title that no talk of the file has."""
        taken = {talk.title for talk in self.loaded.talks} if self.loaded is not None else set()
        titles = (title if number == 1 else f"{title} ({number})" for number in count(1))
        return next(one for one in titles if one not in taken)


async def shelf_for(path: Path, program: Path | None, facts: Sequence[Fact]) -> TalkShelf:
    """Where the talk of a conversation goes. Raises ProgramError and ConfigError."""
    loader = TalkLoader()
    if await anyio.Path(path).exists():
        loaded = await loader.load(path)
        return TalkShelf(path, loaded.head, loaded.program, loaded)
    text = _head_for(path, program, facts)
    head = read_head(TalkSource(path, (), text))
    beginning = f"---\n{text}\n---\n# Talks with {head.programs[0].stem}\n"
    return TalkShelf(path, head, await loader.program(head), None, beginning)


def _head_for(path: Path, program: Path | None, facts: Sequence[Fact]) -> str:
    keys = [f"program: {os.path.relpath(program, path.parent)}"] if program is not None else []
    begun = next((content_of(fact.kind, fact.data) for fact in facts if fact.kind == "begin"), None)
    if isinstance(begun, SessionBegun) and not begun.private:
        keys.append("group: true")
    people = sorted({act.who for act in acts_of(facts) if isinstance(act, forms.PersonLine | forms.PressedChoice)})
    if people:
        keys.append(f"people: {json.dumps(people, ensure_ascii=False)}")
    if facts:
        keys.append(f"start: {facts[0].at.astimezone(UTC):%Y-%m-%d %H:%M}")
    return "\n".join(keys)


def add_talk(shelf: TalkShelf, title: str, saved: Saved) -> None:
    """Add a talk to its file, and its answers to those that are recorded. Raises ConfigError."""
    recordings = {} if shelf.loaded is None else dict(shelf.loaded.recordings)
    try:
        before = shelf.path.read_text(encoding="utf-8").rstrip() + "\n" if shelf.loaded is not None else shelf.beginning
        shelf.path.write_text(f"{before}\n{saved.markdown}", encoding="utf-8")
    except OSError as error:
        raise ConfigError(f"{shelf.path}: it cannot be written: {error.strerror}") from error
    if saved.recording.answers or saved.recording.tools is not None:
        write_recordings(shelf.path, {**recordings, title: saved.recording})


async def save(
    title: str, shelf: TalkShelf, facts: Sequence[Fact], stage: TalkStage, files: Mapping[str, Path] = NO_FILES
) -> Saved:
    """The conversation of these facts as a talk, by replaying it; `files` are those that people sent, by url. Raises
    ProgramError where that is not possible."""
    program, head, acts = shelf.program, shelf.head, acts_of(facts, files)
    if not acts:
        raise ProgramError("Nobody has said anything in this conversation.")
    talk = forms.TalkScript(title, 0, tuple(forms.TalkTurn(act) for act in acts))
    answers = LiveAnswers(MemoryAnswers(AnswerMemory(program, facts)))
    records: list[BeatRecord] = []
    tools = kept_tools(program, facts)
    async with Holding(program, talk, head, stage, answers, tools).open() as holding:
        for beat in talk.beats:
            records.append(BeatRecord())
            await holding.hold(beat, records[-1])
            if records[-1].fault:
                break
        now = [fact async for fact in holding.facts()]
    if records[-1].fault:
        raise _gone(f"after “{talk.beats[len(records) - 1].act}”: {records[-1].fault}")
    for then, here in zip_longest(shown_in(facts), shown_in(now), fillvalue="nothing"):
        if then != here:
            raise _gone(f"where it said “{shortened(then, _SHOWN_CHARS)}”: now “{shortened(here, _SHOWN_CHARS)}”.")
    if _ended(facts) != _ended(now):
        raise _gone("to its end: it ended then, and now goes on." if _ended(facts) else "as it was: now it ends.")
    lines = [
        f"## {title}",
        "",
        *(line for beat, one in zip(talk.beats, records, strict=True) for line in _lines(beat, one, shelf)),
    ]
    return Saved("\n".join(lines) + "\n", TalkRecording(tuple(answers.noted), tools=tools))


def _gone(where: str) -> ProgramError:
    return ProgramError(f"The conversation cannot be replayed {where}\nThe program may have changed since.")


def _ended(facts: Sequence[Fact]) -> bool:
    return any(isinstance(content_of(fact.kind, fact.data), SessionEnded) for fact in facts)


def shown_in(facts: Sequence[Fact]) -> list[str]:
    agents: dict[str, bool] = {}
    texts: dict[str, str] = {}
    for fact in facts:
        content = content_of(fact.kind, fact.data)
        if isinstance(content, PageBegun):
            agents[str(fact.seq)] = bool(content.agent)
        elif isinstance(content, PageFinished):
            texts[content.page] = content.text
    return [texts[page] for page, by_agent in agents.items() if by_agent and texts.get(page)]


def _lines(beat: forms.TalkTurn, record: BeatRecord, shelf: TalkShelf) -> Iterator[str]:
    if beat.act is not None:
        yield f"- {_indented(_written(beat.act, shelf.path.parent))}"
    for seen in record.seen:
        yield f"- {seen.who}: {_indented(seen.text)}"
    for call in record.calls:
        if _is_told(call, shelf.program):
            yield f"- expect: call {call}"
    for failure in record.failures:
        yield f"- expect: failure {_indented(failure)}"
    if record.ended:
        yield "- expect: the end"


def _written(act: forms.TalkAct, folder: Path) -> str:
    """What somebody did, with the paths of files from the folder of the talk."""
    if not isinstance(act, forms.PersonLine) or not act.files:
        return str(act)
    names = ", ".join(Path(os.path.relpath(file, folder)).as_posix() for file in act.files)
    return f"{act.who} sends {names}: {act.text}" if act.text else f"{act.who} sends {names}"


def _is_told(call: SeenCall, program: Program) -> bool:
    """Whether a call is of Python, with arguments that can be written down."""
    spec = program.agent(call.agent)
    playbook = None if spec is None else spec.playbook(call.playbook)
    plain = all(isinstance(value, str | int | float | bool | None) for value in call.arguments.values())
    return playbook is not None and playbook.kind == "python" and not playbook.triggers and plain


def _indented(text: str) -> str:
    """A text as that of an item: its lines below the first are indented, and blank ones stay within it."""
    return re.sub(r"\n(?=[^\n])", "\n  ", re.sub(r"\r\n?", "\n", text.strip()))


async def contents_of(facts: Sequence[Fact], store: FileStore) -> Contents:
    """The files that people sent. Raises ProgramError for one that is gone, or cannot be opened."""
    found: dict[str, tuple[str, bytes]] = {}
    for url, name in _sent(facts).items():
        try:
            kept = await store.content(url.removeprefix(FILE_URL))
        except ContentLocked as error:
            raise ProgramError(f"The file {name} cannot be opened. {error}") from error
        found[url] = name, _content(name, kept)
    return found


def contents_in(facts: Sequence[Fact], files: Iterable[FileContent]) -> Contents:
    """The same, of the files of an exported session."""
    kept = {file_id(file.data, file.media_type): file for file in files}
    return {url: (name, _content(name, kept.get(url.removeprefix(FILE_URL)))) for url, name in _sent(facts).items()}


def _sent(facts: Sequence[Fact]) -> Mapping[str, str]:
    received = [content_of(fact.kind, fact.data) for fact in facts]
    files = [each for each in received if isinstance(each, FileReceived) and each.url.startswith(FILE_URL)]
    return {each.url: each.name for each in reversed(files)}


def _content(name: str, kept: FileContent | None) -> bytes:
    if kept is None:
        raise ProgramError(f"The file {name} of this conversation is not kept any more.")
    return kept.data


@contextmanager
def beside(talks: Path, contents: Contents) -> Iterator[Mapping[str, Path]]:
    """The files, written into the folder support.files beside support.test.md: their paths by url.

    What was written goes again when something fails. Raises ConfigError where they cannot be written.
    """
    folder = talks.with_name(talks.name.removesuffix(TALKS) + _FOLDER)
    paths: dict[str, Path] = {}
    written: list[Path] = []
    try:
        for url, (name, data) in contents.items():
            path = _free(folder, name, data)
            if not path.exists():
                folder.mkdir(exist_ok=True)
                written.append(path)
                path.write_bytes(data)
            paths[url] = path
        yield paths
    except BaseException as error:
        for path in written:
            path.unlink(missing_ok=True)
        with suppress(OSError):
            folder.rmdir()
        if isinstance(error, OSError):
            raise ConfigError(f"{folder} cannot be written: {error.strerror}") from error
        raise


def _free(folder: Path, name: str, data: bytes) -> Path:
    """A path that is free, or has this content already."""
    clean = Path(_SEPARATES.sub("_", clean_file_name(name)))
    names = (clean.name if number == 1 else f"{clean.stem}-{number}{clean.suffix}" for number in count(1))
    paths = (folder / one for one in names)
    return next(path for path in paths if not path.exists() or path.read_bytes() == data)
