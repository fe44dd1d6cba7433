"""Messages outside any playbook, as small models handle them: one choice, then a playbook or one reply."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import anyio

from runtime.core.prompt_forms import LineForm
from runtime.execution.execution_context import ExecutionContext
from runtime.execution.frames.frame import Frame
from runtime.execution.free.statement_run import partner_of
from runtime.execution.processor.exchange import Exchange, heard_text, system_text
from runtime.execution.processor.questioner import Questioner, quoted
from runtime.execution.processor.understanding import NONE, was_said
from runtime.execution.processor.work import Work
from runtime.execution.questions.form import OutcomeChoice, WordsQuestion
from runtime.execution.triggers.kinds import JudgedTriggers
from runtime.language.program import AgentSpec, PlaybookSpec

_LINE = "01"


class IdlePlaybook:
    """Executes the built-in playbook for messages that come while nothing is going on.

    A large model does this with statements; a small one is asked whether a trigger fits, what the message gives to its
    playbook, and for a reply where none fits.
    """

    def __init__(
        self,
        context: ExecutionContext,
        frame: Frame,
        agent: AgentSpec,
        playbook: PlaybookSpec,
        triggers: JudgedTriggers,
    ) -> None:
        self._context = context
        self._frame = frame
        self._triggers = triggers.by_message
        self._system = system_text(context.program, agent, playbook, "")
        self._questioner = Questioner({}, None)
        self._work = Work(context, frame, playbook)
        self._exchange = Exchange(self._work, lambda: self._system, lambda: None, lambda: frame.agent.variables)

    async def run(self) -> Any:
        """Handle the messages. Raises PlaybookError for a failure."""
        try:
            await self._deal()
        finally:
            with anyio.CancelScope(shield=True):
                await self._exchange.asking.close(ended=False)
        return None

    async def _deal(self) -> None:
        state = self._frame.state
        if state.at is None:
            heard = heard_text(self._context.journal.state, state.inbox)
            self._work.note_step(_LINE, "EXE", heard=heard)
        self._work.begin()
        playbook = await self._fitting()
        if playbook != NONE:
            await self._work.call(playbook, (), await self._arguments(playbook))
            return
        task = f"{LineForm.REPLY} this, in your role. Only the message itself, in a sentence or two."
        partner = partner_of(self._context.journal.state, state)
        words = WordsQuestion((_LINE, "words"), task)
        await self._exchange.say_words(partner, words, may_be_silent=state.meeting is not None)

    async def _fitting(self) -> str:
        if not self._triggers:
            return NONE
        options = {name: text for name, (text, _) in self._triggers.items()}
        task = f"They wrote: {self._written} Which of these fits?"
        choice = OutcomeChoice((_LINE, "trigger"), task, {NONE: "anything else", **options})
        return str(await self._exchange.answer(choice))

    async def _arguments(self, playbook: str) -> Mapping[str, Any]:
        """The arguments that the message gives to the playbook; a single text argument gets the whole message."""
        _, wanted = self._triggers[playbook]
        if not wanted:
            return {}
        question = self._questioner.gathered((_LINE, "values"), self._written, wanted)
        given = await self._exchange.answer(question)
        values = {name: value for name, value in given.items() if was_said(value, self._heard)}
        return values or {
            name: self._heard for name, kind in wanted.items() if len(wanted) == 1 and kind in ("", "str")
        }

    @property
    def _heard(self) -> str:
        return "\n".join(message.content for message in self._frame.state.inbox)

    @property
    def _written(self) -> str:
        return quoted(self._heard)
