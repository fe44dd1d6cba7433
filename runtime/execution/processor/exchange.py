"""The exchange of a frame with the model, people and agents: what is asked, said and heard. The text around a question
to a model: its role, the script, the past and the known values; the stable part first.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from typing import Any

import anyio
from msgspec.structs import replace

from runtime.core.errors import LLMError
from runtime.core.message import Message, message_from_data, message_to_data
from runtime.core.prompt_forms import LineForm, foreign_line, foreign_lines
from runtime.events.frames import LLMFailed, TurnCompleted
from runtime.execution.frames.frame import FrameCall as HostCall
from runtime.execution.frames.outcomes import FOR_RETRY, site
from runtime.execution.model_calls import ModelCalls, TranscriptCompaction
from runtime.execution.processor.work import Work
from runtime.execution.prompt.message_text import exchanged, heard_content, heard_line, past_lines
from runtime.execution.prompt.situation import named_value, node_context, shown_value
from runtime.execution.prompt.step_words import script_lines
from runtime.execution.prompt.with_files import file_mention
from runtime.execution.questions.asking import FrameQuestions
from runtime.execution.questions.form import Question, UnderstandAnswer, ValueQuestion, WordsQuestion
from runtime.execution.questions.spoken import SpeechCleaner, spoken
from runtime.execution.session_context import StepWatcher
from runtime.execution.speech.joint import beginning
from runtime.execution.speech.utterances import SayCall
from runtime.language.instructions.evaluation import NotComputable
from runtime.language.instructions.expression import read_expression
from runtime.language.instructions.model import Template
from runtime.language.program import NOTE, AgentSpec, PlaybookSpec, Program
from runtime.language.syntax.signature import spaced
from runtime.llm.client import ChatMessage
from runtime.tape.facts.frames import CallReturned, FrameSteered, WaitBegun, WaitEnded
from runtime.tape.rules.frames import TURN
from runtime.tape.state.frames import CallKey, FrameState
from runtime.tape.state.session import SessionState


class Exchange:
    """The questions of one frame to the model, and what the frame says and hears."""

    def __init__(
        self,
        work: Work,
        system: Callable[[], str],
        doing: Callable[[], str | None],
        known: Callable[[], Mapping[str, Any]] | None = None,
        *,
        hears_words: bool = False,
    ) -> None:
        """`system` is the stable part of the prompt, `doing` what the agent does, for people; `known` are the values
        that the model is told, those of all names where it is left out. `hears_words`: a step waits for those of tasks
        and of orderers."""
        self.work = work
        self.context = work.context
        self.frame = work.frame
        self._system = system
        self._known = known or work.names
        self._hears_words = hears_words
        context = work.context
        self._others = [f"(To {agent.name}:)" for agent in context.program.agents]
        calls = ModelCalls(context, work.frame)
        compaction = TranscriptCompaction(context, work.frame, calls)
        self.asking = FrameQuestions(context, work.frame, calls, compaction, self._prompt, self._park, doing)
        work.interrupts = self.asking.close

    # -- the model

    async def answer(self, *questions: Question) -> Any:
        """The answer to the first question, as data; the others may be asked with it."""
        pos = self.work.position()
        record = self.work.record(pos)
        if record is not None:
            return record.value
        self._steer()
        answer = await self.asking.answer(lambda: questions)
        if not self.frame.alive:
            await anyio.sleep_forever()
        if isinstance(answer, UnderstandAnswer):
            answer = {"does": answer.does, "values": dict(answer.values)}
        self.context.journal.note(CallReturned(*site(self.frame, HostCall(pos, "Answer")), value=answer))
        return answer

    async def _prompt(self, asked: str, first: Question) -> tuple[ChatMessage, ...]:
        told, frame = self.context.told, self.frame.state
        remembered = None if told is None else await told(frame, frame.heard, asked)
        system, state = self._system(), self.context.journal.state
        asked = "\n".join([text for text in (remembered, asked) if text])
        frame = replace(frame, notes=[*frame.notes, *self.work.notes], said=[*frame.said, *self.work.said])
        known, placed = self._known(), not (isinstance(first, WordsQuestion) and first.example)
        if self.context.alone and isinstance(first, ValueQuestion) and first.optional:  # small models give old values
            known = {name: value for name, value in known.items() if name not in first.types}
        return build_prompt(system, state, frame, known, asked, placed=placed)

    def _steer(self) -> None:
        """Show what was said to the agent while it worked, when that is for the work to see."""
        agent = self.frame.agent
        if steering := self.context.steering(agent, words=not self._hears_words):
            heard = heard_text(self.context.journal.state, steering)
            self.context.journal.note(FrameSteered(self.frame.id, [m.id for m in steering], heard=heard))
            self.context.builtins.forget(agent.id, steering)

    async def _park(self, error: LLMError) -> None:
        await self.asking.calls.park(LLMFailed, error)
        await self._receive(FOR_RETRY, None)

    # -- speaking and hearing

    async def say_exactly(self, target: str, text: str) -> str:
        if self.comes_too_late(target):
            return ""
        await self.work.call("Say", (target, text))
        self._keep_said(target, text)
        return text

    async def say_again(self, target: str) -> str:
        """Say once more all that people were told before they wrote last."""
        record = self.work.record(self.work.upcoming)
        said = [text for text in self.frame.state.said_before if not _is_to_another(text)]
        return await self.say_exactly(target, "\n\n".join(said) if record is None else record.text or "")

    async def say_words(self, target: str, *questions: Question, may_be_silent: bool = False) -> str:
        """Have the model word a message, shown while it is written; returns what was said."""
        if self.comes_too_late(target):
            return ""
        pos = self.work.position()
        if self.work.record(pos) is None:
            self._steer()
            utterances = self.context.builtins.utterances
            to = utterances.target(self.frame, target)  # an unknown one is an error before the model is asked
            goes_on = False

            def asked() -> Sequence[Question]:
                """The question for all of the words, or alone for the rest of those that people can see already."""
                nonlocal goes_on
                first, *more = questions
                stands = "" if self.context.alone or not isinstance(first, WordsQuestion) else self._stands(to.key)
                begun = beginning(stands)
                goes_on = bool(begun)
                return [replace(first, begun=begun, unfinished=stands[len(begun) :])] if begun else [first, *more]

            async def say(pieces: AsyncIterator[str]) -> None:
                pieces = pieces if self.context.watcher is None else self._watched(pieces, self.context.watcher)
                filter_ = SpeechCleaner(self._filled, self.frame.agent.klass, self._others, goes_on=goes_on)
                words = spoken(pieces, filter_, may_be_silent=may_be_silent or goes_on)
                if goes_on:
                    words = _behind(self.asking.blanks, words)
                call = HostCall(pos, "Say", (target, words))
                await utterances.speak(SayCall(self.frame, call, target, goes_on=goes_on, worded=True), words)

            await self.asking.words(asked, say)
        text = (await self.work.settled(pos)).text or ""
        self._keep_said(target, text)
        return text

    def _stands(self, to: str) -> str:
        """The words of the present instruction to a target that people can see already."""
        page = self.context.journal.state.open_page(self.frame.id, to)
        began = page is not None and int(page.id) > self.frame.state.at_seq
        return self.context.pages.standing(page) if page is not None and began else ""

    async def _watched(self, pieces: AsyncIterator[str], watcher: StepWatcher) -> AsyncIterator[str]:
        begun = False
        async for piece in pieces:
            if not begun:
                await watcher.about_to_say(self.frame)
            begun = True
            yield piece

    def _filled(self, name: str) -> str | None:
        expression = read_expression(f"${name}")
        if expression is None:
            return None
        try:
            return self._shown(expression.evaluate(self.work.names()))
        except NotComputable:
            return None

    def _keep_said(self, target: str, text: str) -> None:
        if not text:
            return
        human = target.lower() in ("user", "human")
        self.work.said.append(text if human or target.startswith("meeting") else f"(To {target}:) {text}")

    def comes_too_late(self, target: str) -> bool:
        """Whether a text is for a meeting whose end its agent has not read yet: then nobody hears it."""
        return self.context.builtins.utterances.comes_too_late(self.frame, target)

    def is_over(self, targets: Sequence[str]) -> bool:
        """Whether words are for the frame's own meeting, which has ended while its agent was in it."""
        meeting = self.context.journal.state.meetings.get(self.frame.state.meeting or "")
        over = meeting is not None and meeting.status == "ended" and self.frame.state.agent in meeting.joined
        return over and "meeting" in targets and not self.comes_too_late("meeting")

    async def rendered(self, template: Template) -> str:
        """Exact words with their values. Raises NotComputable."""
        return "".join(
            [part if isinstance(part, str) else self._shown(await self.work.evaluate(part)) for part in template.parts]
        )

    def _shown(self, value: Any) -> str:
        if value is None:
            return self.context.pages.texts("session.not_given")
        return value if isinstance(value, str) else shown_value(value)

    def target_of(self, target: str) -> str:
        """The target that a step names, a variable by its value. Raises NotComputable."""
        expression = read_expression(target) if target.startswith("$") else None
        return str(expression.evaluate(self.work.names())) if expression is not None else target

    async def hear(self, source: str) -> list[Message]:
        """Wait for messages of a source; what was said before goes into the past."""
        pos = self.work.position()
        record = self.work.record(pos)
        if record is not None:
            self.work.told()  # it went along with what was heard
            return [message_from_data(data) for data in record.value]
        await self.asking.close()
        words = self.target_of(source)
        resolved = None if self._waiting() else self.context.builtins.utterances.source(self.frame, words)
        taken = await self._receive(resolved, pos)
        if self.asking.compaction.due:
            await self.asking.compaction.shorten()
        return taken

    def _waiting(self) -> bool:
        return CallKey(self.frame.id, TURN) in self.context.journal.state.waits

    async def _receive(self, source: Any, pos: str | None) -> list[Message]:
        journal, frame = self.context.journal, self.frame
        await self.context.pages.close_own(frame.id)
        if not self._waiting():
            journal.note(WaitBegun(frame.id, TURN, "Yld", "", source, None))
        taken = await self.context.builtins.receive(frame, TURN) or []
        asides = frame.agent.asides
        value = None if pos is None else [message_to_data(message) for message in taken]
        heard = heard_text(journal.state, [*asides, *taken])
        mids = [message.id for message in taken]
        notes, said = self.work.told()
        took = WaitEnded(frame.id, TURN, messages=mids, heard=heard, kept_at=pos, value=value, notes=notes, said=said)
        journal.note(took)
        self.asking.calls.publish(TurnCompleted(*self.asking.calls.at))
        if frame.state.meeting is None and all(message.from_human for message in taken):
            journal.hurry()  # the model is asked meanwhile: nothing that comes of it is shown before this is durable
        else:
            await journal.commit()  # another agent that goes on, too, does so first
        return taken


def _is_to_another(text: str) -> bool:
    """Whether words were neither for people nor for a meeting."""
    begun, ends, _ = text.partition(":) ")
    return begun != begun.removeprefix("(To ") and bool(ends) and "\n" not in begun


async def _behind(blanks: Callable[[], str], words: AsyncIterator[str]) -> AsyncIterator[str]:
    """Words with the blanks that the reply had before them."""
    begun = False
    async for text in words:
        yield text if begun else blanks() + text
        begun = True


_ROLE = """\
You are {name}.{description}
You take part in a chat. What happens is decided by a program; you are asked for one piece at a time: the words of one \
message, a value, or a decision. Give exactly that piece, and nothing before or after it. Speak as yourself to the \
person, in their language. Take no other steps, promise none, and invent no facts.\
"""


def system_text(
    program: Program, agent: AgentSpec, playbook: PlaybookSpec, described: str, *, with_script: bool = True
) -> str:
    """The part that all questions of a playbook share. `described` is its description."""
    about = f" {agent.description}" if agent.description else ""
    lines = [_ROLE.format(name=spaced(agent.name), description=about)]
    script = "\n".join(step.text for step in playbook.walk_steps())
    others = [other.name for other in program.agents if other.name != agent.name and other.name in script]
    if others:
        lines.append(f"{LineForm.OTHERS_PART} {', '.join(others)}.")
    if described:
        lines.append(f"\n{LineForm.ABOUT} {described}")
    if playbook.steps and with_script:
        lines.append(f"\n{LineForm.SCRIPT}{spaced(playbook.name)}), for orientation:")
        lines += [line for step in playbook.steps for line in script_lines(step, 0)]
    if playbook.notes:
        lines.append(f"\n{LineForm.NOTES}")
        lines += [f"- {NOTE.sub('', note, count=1).lstrip()}" for note in playbook.notes]
    return "\n".join(lines)


def heard_text(state: SessionState, messages: list[Message]) -> str:
    """Messages in words for a model. In a private chat, the only person is quoted without a name."""
    return "\n".join(_heard(state, message) for message in messages)


def _heard(state: SessionState, message: Message) -> str:
    files = "".join(f"\n{file_mention(file)}" for file in message.attachments)
    alone = state.private and len(state.people) <= 1 and len(state.agents) == 1
    if alone and message.from_human and message.type == "direct":
        return "\n".join([*past_lines(message.past), heard_content(message)]) + files
    return heard_line(message) + files


def build_prompt(
    system: str, state: SessionState, frame: FrameState, names: Mapping[str, Any], asked: str, *, placed: bool = True
) -> tuple[ChatMessage, ...]:
    """The whole prompt. Where it is not `placed`, it tells neither who is there nor what was said since somebody wrote:
    small models say it again."""
    messages = [ChatMessage("system", system, cacheable=True)]
    for past in frame.transcript:
        messages += exchanged(past)
    if frame.transcript:
        messages[-1] = ChatMessage(messages[-1].role, messages[-1].content, cacheable=True)
    heard = "\n".join(text for text in (frame.heard, *frame.notes) if text)
    if heard:
        messages.append(ChatMessage("user", heard))
    if frame.said and placed:
        messages.append(ChatMessage("assistant", foreign_lines("\n\n".join(frame.said))))
    known = _known(state, frame, names, placed=placed)
    messages.append(ChatMessage("user", f"{LineForm.FROM_PROGRAM}\n{known}{asked}"))
    return tuple(messages)


def _known(state: SessionState, frame: FrameState, names: Mapping[str, Any], *, placed: bool) -> str:
    agent = state.agents[frame.agent]
    lines = []
    shown = [(name, value) for name, value in names.items() if not name.startswith("_") and name != "startup_message"]
    if shown:
        values = (f"${foreign_line(name)} = {named_value(agent, name, value)}" for name, value in shown)
        lines.append(f"{LineForm.KNOWN} " + "; ".join(values))
    lines += node_context(state, frame) if placed else []
    return "\n".join([*lines, ""]) if lines else ""
