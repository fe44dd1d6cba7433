"""Questions with choices: asked as a page, answered by a press or in words, once."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from difflib import SequenceMatcher
from types import MappingProxyType
from typing import Annotated, Any

from runtime.core.address import CLIENT, Address, thread_name
from runtime.core.errors import PlaybookError, UnknownTarget
from runtime.core.ids import PersonId
from runtime.core.markup import MarkdownPart
from runtime.core.message import Message, MessageType
from runtime.execution.calls.builtins import BuiltinCalls
from runtime.execution.frames.frame import Frame, FrameCall, check_waits
from runtime.execution.frames.outcomes import site
from runtime.execution.frames.signatures import Seconds, call
from runtime.execution.prompt.with_files import file_mention, reference
from runtime.execution.speech.delivery import addressed
from runtime.execution.speech.pages import SessionPages
from runtime.meetings.meeting import LEFT
from runtime.tape.facts import frames as facts
from runtime.tape.facts.content import FactContent
from runtime.tape.facts.people import PageFinished, PageMoved
from runtime.tape.facts.registry import hears
from runtime.tape.facts.session import MessagesDropped
from runtime.tape.journal import Journal
from runtime.tape.state.frames import CallKey
from runtime.tape.state.people import PageState, QuestionState

MAX_OPTIONS = 25
MAX_OPTION_CHARS = 200

MAX_QUESTIONS = 25
"""Open questions of one session."""

_PREFIX_CHARS = 8
_SIGNS = " \t\n.,;:!?\"'…。\uff0c\uff01\uff1f"
"""What may stand around the words of an answer, and in Chinese."""

_BEFORE = ("a ", "an ", "the ", "number ", "option ")
_BEHIND = (" please", " thanks", " thank you")
"""What people say around an option."""

_ALIKE = 0.85
"""The similarity from which on another spelling is a slip: of five letters one may be missing, of eight one wrong."""


_Asked = tuple[PersonId | None, dict[str, PersonId]]
"""The one person who is asked, and several, ids by name."""


def _question(given: Any) -> str:
    if not isinstance(given, str) or not given.strip():
        raise ValueError(f"a question, a text, not {given!r}")
    return given


def _labels(given: Any) -> list[str]:
    if not isinstance(given, list | tuple) or not 1 <= len(given) <= MAX_OPTIONS:
        raise ValueError(f"a list of 1 to {MAX_OPTIONS} options, not {given!r}")
    labels = [str(option).strip() for option in given]
    if len(set(labels)) < len(labels) or not all(0 < len(label) <= MAX_OPTION_CHARS for label in labels):
        raise ValueError(f"options that differ and have 1 to {MAX_OPTION_CHARS} characters, not {labels}")
    return labels


QuestionText = Annotated[str, _question]
Options = Annotated[list[str], _labels]


class SessionQuestions:
    def __init__(self, journal: Journal, pages: SessionPages, builtins: BuiltinCalls) -> None:
        self._journal = journal
        self._pages = pages
        self._builtins = builtins

    @call("Ask", example='answer = await Ask("Ship it?", ["Yes", "No"])', sends=True)
    async def ask(
        self,
        frame: Frame,
        call: FrameCall,
        question: QuestionText,
        options: Options | None = None,
        of: Any = None,
        within_s: Seconds | None = None,
    ) -> None:
        """Asks the user to choose and waits; it returns the chosen option, and asks back after other words.
        Without the list it accepts any answer. `of="Ada"` lets only that person answer; `of=["Ada", "Bo"]` asks each of
        them and returns `{"Ada": "Yes", "Bo": "No"}`; with `within_s=60` it returns the answers so far when the time is
        over, or None.

        If a person leaves the meeting in which the question was asked, or has left it, their answer is None; when the
        meeting ends, the call returns the answers so far.
        """
        key = CallKey(frame.id, call.pos)
        if key not in self._journal.state.questions:
            check_waits(self._journal.state, frame, call)
            person, each = self._whom(of)
            people = list(each.values()) or ([] if person is None else [person])
            meeting = self._journal.state.meetings.get(frame.state.meeting or "")
            invited = meeting.invited if meeting is not None and meeting.status != "ended" else {}
            away = {who for who in people if invited.get(who) == LEFT}
            if people and len(away) == len(people):
                self._journal.note(facts.CallReturned(*site(frame, call), value=dict.fromkeys(each) if each else None))
                return
            text = self._addressed(self._by_whom(frame, question, options), people)
            await self._put(frame, call, text, options or [], (person, each), within_s)
            for name in (name for name, who in each.items() if who in away):
                self._note_gone(frame, call, name)
        asked = self._journal.state.questions[key]
        if asked.each:
            await self._collect(frame, call, asked, within_s)
            self._show_chosen(asked, {name: said for name, said in asked.answers.items() if said is not None})
            self._journal.note(facts.WaitEnded(*site(frame, call), messages=[], value=asked.answers))
            await self._journal.commit()
            return
        taken = await self._answer(frame, call, within_s)
        answer = answer_of(taken[0], asked.options) if taken else None
        if taken:
            self._show_chosen(asked, {taken[0].sender_name or "": str(answer)})
        mids = [message.id for message in taken or ()]
        self._journal.note(facts.WaitEnded(*site(frame, call), messages=mids, value=answer))
        await self._journal.commit()

    def _show_chosen(self, question: QuestionState, answers: Mapping[str, str]) -> None:
        """Say in the place of the options who has chosen which. What was written instead people see as it is."""
        chosen = {name: said for name, said in answers.items() if said in question.options}
        texts, alone = self._pages.texts, self._journal.state.private and not question.each
        lines = [
            texts("session.question_chosen_alone", answer=said)
            if alone or not name
            else texts("session.question_chosen", name=name, answer=said)
            for name, said in chosen.items()
        ]
        if lines:
            self._pages.signs.chosen(question.page, "\n".join(lines))

    async def _collect(self, frame: Frame, call: FrameCall, question: QuestionState, within_s: float | None) -> None:
        """Take one answer of each; all see how many have answered."""
        while len(question.answers) < len(question.each):
            taken = await self._answer(frame, call, within_s)
            if taken is None:
                return
            [message] = taken
            who = next(name for name, person in question.each.items() if person in (message.sender_id, message.gone))
            if message.gone is not None:
                self._note_gone(frame, call, who)
                continue
            said = answer_of(message, question.options)
            self._journal.note(facts.QuestionAnswered(frame.id, call.pos, [message.id], who, said))
            place = self._journal.state.written_at.get(message.platform_id or "")
            self._tell_count("session.question_answered", who, question, place)
            await self._journal.commit()

    def _note_gone(self, frame: Frame, call: FrameCall, who: str) -> None:
        self._journal.note(facts.QuestionAnswered(frame.id, call.pos, [], who, None))
        question = self._journal.state.questions[CallKey(frame.id, call.pos)]
        self._tell_count("session.question_left", who, question, question.place)

    def _tell_count(self, key: str, who: str, question: QuestionState, place: Address | None) -> None:
        count = {"count": len(question.answers), "of": len(question.each)}
        self._pages.tell(self._pages.texts(key, name=who, **count), place)

    async def _answer(self, frame: Frame, call: FrameCall, within_s: float | None) -> list[Message] | None:
        """Somebody's answer, or the notice that one of several has left; None when the time is over, who was asked
        has left, or the meeting has ended in which it was asked. Of notices the next wait hears. Who writes none of the
        options is told them."""
        while taken := await self._builtins.receive(frame, call.pos, at_most=1, within_s=within_s):
            [message] = taken
            question = self._journal.state.questions[CallKey(frame.id, call.pos)]
            if message.ends_meeting or message.gone:
                self._builtins.give_back(frame.state.agent, taken)
                return taken if question.each and message.gone else None
            for_another = call.answers is not None  # whoever asks on behalf of a call judges the words
            if for_another or not question.options or answer_of(message, question.options) in question.options:
                return taken
            self._journal.note(MessagesDropped(frame.state.agent, [message.id]))
            text = self._pages.texts("session.question_choose", options=", ".join(question.options))
            self._pages.tell(text, self._journal.state.written_at.get(message.platform_id or "", question.place))
            await self._journal.commit()
        return None

    def _whom(self, of: Any) -> _Asked:
        """Raises UnknownTarget for somebody who is not here."""
        if not isinstance(of, list | tuple):
            return None if of is None else self._person(str(of)), {}
        if not of:
            raise PlaybookError("Ask needs somebody to ask: of=[] names nobody")
        each = {str(name).removeprefix("@"): self._person(str(name)) for name in of}
        if len(set(each.values())) < len(each):
            raise PlaybookError(f"Ask needs different people, not {', '.join(each)}")
        return None, each

    async def _put(
        self, frame: Frame, call: FrameCall, text: str, labels: Sequence[str], asked: _Asked, within_s: float | None
    ) -> None:
        person, each = asked
        await self._builtins.utterances.drop_stream(frame.id, "a question was asked")
        await self._pages.room()
        if len(self._journal.state.questions) >= MAX_QUESTIONS:
            raise PlaybookError(f"{MAX_QUESTIONS} questions are open already, the limit at once")
        page = self.put(frame.id, call.pos, text, labels, person, each)
        source: dict[str, Any] = {"human": True, "ask": page.id, "of": person}
        source |= {"people": list(each.values())} if each else {}
        meeting = self._journal.state.meetings.get(frame.state.meeting or "")
        source |= {"within": meeting.id} if meeting is not None and meeting.status != "ended" else {}
        due = None if within_s is None else self._builtins.now_s() + within_s
        self._journal.note(facts.WaitBegun(*site(frame, call), source, due))

    def _addressed(self, text: str, people: Sequence[PersonId]) -> str:
        """The question with whom it is for before it, where others read along: of two of one name, by number which."""
        state = self._journal.state
        for person in () if state.private else reversed(people):
            text = addressed(text, state.spoken_name(person))
        return text

    def _by_whom(self, frame: Frame, text: str, options: Options | None) -> str:
        """The question of a task with the task's name before it, where others speak too."""
        order = self._journal.state.order
        if order is None or order.place.platform == CLIENT:
            return text
        does = f"{frame.agent.klass}.{frame.state.playbook}"
        return self._pages.texts(
            "tasks.asks" if options else "tasks.asks_words", task=order.number, does=does, text=MarkdownPart(text)
        )

    def put(
        self,
        frame: str,
        pos: str,
        text: str,
        labels: Sequence[str],
        of: PersonId | None,
        each: Mapping[str, PersonId] = MappingProxyType({}),
    ) -> PageState:
        """Show a question for which a frame has a place. Does not wait.

        `of` is whose answer counts, by id; `each` are several of whom each is asked, ids by name.
        """
        page = self._pages.question(frame, self._prefix, labels)
        self._journal.note(facts.QuestionAsked(frame, pos, page.id, text, list(labels), of, dict(each)))
        self._journal.note(PageFinished(page.id, text))
        self._pages.show(page)
        return page

    @hears(PageMoved)
    def noted(self, _fact: FactContent) -> None:
        """Where a page was moved out of a lost place, questions that were asked there are too."""
        state = self._journal.state
        lost = [meeting.left for meeting in state.meetings.values() if meeting.left is not None]
        self.ask_again(lambda question: question.place in lost and question.page not in state.pages)

    def ask_again(self, concerned: Callable[[QuestionState], bool] = lambda _: True) -> None:
        """Show open questions again, by default all: the page that showed them belongs to another session, and so do
        their choices."""
        for key, question in list(self._journal.state.questions.items()):
            if not concerned(question) or self._answered(question):
                continue
            options = question.options
            page = self._pages.question(question.frame, self._prefix, options)
            self._journal.note(facts.QuestionAskedAgain(question.frame, key.pos, page.id))
            self._journal.note(PageFinished(page.id, question.text))
            self._pages.show(page)

    @property
    def _prefix(self) -> str:
        return str(self._journal.session)[:_PREFIX_CHARS]

    def _person(self, name: str) -> PersonId:
        """Somebody by id, else by a name that nobody else has: people choose their names themselves."""
        person = self._builtins.utterances.person(name)
        if person is not None:
            return person
        state = self._journal.state
        here = ", ".join(map(state.called, state.people))
        raise UnknownTarget(f"nobody called {name!r} is here; here are {here or 'no people yet'}")

    def open_for(self, choice: str, person: str) -> tuple[QuestionState, str] | None:
        """The question that a person's choice belongs to, and the label; None when it was answered or is unknown.

        A question for several counts as answered for each one who has answered it.
        """
        question, number = self.open_on(choice, person), _number(choice.split(".", 2)[-1])
        if question is None or number is None or number >= len(question.options):
            return None
        return question, question.options[number]

    def open_on(self, choice: str, person: str) -> QuestionState | None:
        """The question that a person answers in words, by the id of the choice for words; None as above."""
        prefix, page, _ = [*choice.split("."), "", ""][:3]
        questions = self._journal.state.questions.values() if prefix == self._prefix else ()
        found = next((question for question in questions if question.page == page), None)
        return None if found is None or self._answered(found, person) else found

    def shown_in(self, message: str, person: str) -> QuestionState | None:
        """The question that is shown in a message: by the message's id on the platform, or the name of the thread below
        it. None when this person has answered it.
        """
        for question in self._journal.state.questions.values():
            if any(message in (part, thread_name(part)) for part in question.parts.values()):
                return None if self._answered(question, person) else question
        return None

    def _answered(self, question: QuestionState, person: str | None = None) -> bool:
        queue = self._journal.state.agents[self._journal.state.frames[question.frame].agent].queue
        pressed = [message.sender_id for message in queue if message.answers == question.page]
        if not question.each:
            return bool(pressed)
        if person in question.each.values():
            return person in pressed or not question.wants(str(person))
        return len(question.answers) == len(question.each)


def answer_of(message: Message, options: Sequence[str]) -> str:
    """The option that a message means, by its number or its words, written or spoken; else what it says, with the files
    it brings."""
    pressed = message.type == MessageType.CHOICE
    said = message.content.strip() if pressed else option_of(message.content, options)
    files = [file_mention(file) for file in message.attachments if reference(file)]
    return "\n".join([message.content, *files]).strip() if files and said not in options else said


def option_of(said: str, options: Sequence[str]) -> str:
    """The option that words mean, as in `answer_of`: by its words, its number, its first words, or with one slip of
    spelling; what they say where they mean none or several."""
    words, asks = said.strip(), said.rstrip().endswith(("?", "\uff1f"))
    bare = _bare(words)
    for courtesy in _BEHIND:
        bare = _bare(bare.removesuffix(courtesy))
    bare = next((bare.removeprefix(one) for one in _BEFORE if bare.startswith(one)), bare)
    number = _number(bare.rstrip(")"))
    by_name = {option: _bare(option) for option in options}
    ways = [
        [option for option in options if words.casefold() == option.casefold()][:1],
        [option for option, name in by_name.items() if name == _bare(words)],  # speech is written with a full stop
        [options[number - 1]] if number is not None and 1 <= number <= len(options) else [],
    ]
    if bare and not asks:
        ways += [
            [option for option, name in by_name.items() if fits(name)]
            for fits in (
                bare.__eq__,
                lambda name: name.startswith(f"{bare} "),
                lambda name: _is_slip(bare, name),
            )
        ]
    return next((found[0] for found in ways if len(found) == 1), said)


def _is_slip(said: str, option: str) -> bool:
    """Whether words differ from an option by about one letter, behind the first one."""
    if said[:1] != option[:1] or list(filter(str.isdecimal, said)) != list(filter(str.isdecimal, option)):
        return False
    return SequenceMatcher(None, said, option).ratio() >= _ALIKE


def _bare(words: str) -> str:
    return words.casefold().strip(_SIGNS)


def _number(text: str) -> int | None:
    return int(text) if text.isdecimal() and len(text) <= len(str(MAX_OPTIONS)) else None
