"""The names that an agent's steps can refer to, and who attends the meetings that they hold."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from difflib import get_close_matches
from functools import cached_property, lru_cache

from runtime.language.instructions.conditions.tokens import Kind
from runtime.language.instructions.steps.hearing import AgentNames
from runtime.language.lowering import messages
from runtime.language.program import AgentKind, Param
from runtime.language.syntax.metadata import MEETING_KEYS
from runtime.language.syntax.nodes import ParsedAgent, ParsedPlaybook, ParsedProgram
from runtime.language.syntax.signature import camel_case, parse_python, spaced, without_gaps
from runtime.language.vocabulary.phrase import phrase, words_of
from runtime.language.vocabulary.word_list import WORD

_NO_NAME = frozenset('$()[]{}="')


class Reach:
    """The playbooks that an agent can call, its own and others' as `Agent.Playbook`, and whom it can speak to. Others
    whose names do not stand in its text are not looked at: a program of many agents is as cheap as its text is long."""

    def __init__(self, agent: ParsedAgent, program: ParsedProgram) -> None:
        self.own_name = agent.name
        self._agent = agent
        self._own = {playbook.name: playbook.params for playbook in agent.playbooks}
        self._program = program
        text = _squeezed(agent.source)
        self.others: tuple[ParsedAgent, ...] = tuple(
            other for other in program.agents if other.name != agent.name and _name(_called(other.name)) in text
        )
        """The other agents that it names."""
        said = str(program.metadata.get("memory", "")).lower()
        self.has_memory = said not in ("", "none", "false", "off", "no")
        """Whether the program says that it remembers people."""

    def knows(self, name: str) -> bool:
        """Whether a playbook can be called by this name."""
        agent, _, playbook = name.rpartition(".")
        return self._program.has_playbook(agent, playbook) if agent else name in self._own

    def meant(self, words: str) -> str | None:
        """The playbook that these words name: "Create a ticket" is CreateTicket, "Get user's name" GetName."""
        if not _NO_NAME.isdisjoint(words):
            return None
        letters = [_letters(word) for word in words.split()]
        whole, own = "".join([one for one, _ in letters]), "".join([one for _, one in letters])
        if not words.isascii() or not own[:1].isalpha():  # no name is made of the letters alone
            whole, own = _simple(words), _simple(phrase("possessive").left_out_of(words))
        return self._by_words.get(whole) or self._by_words.get(own)

    def meant_by_first(self, words: Sequence[str], most: int) -> list[str]:
        """The playbooks that the first two of these words name, the first three, and so on, up to `most`."""
        if not all(map(str.isascii, words[:most])):
            counts = range(2, min(len(words), most) + 1)
            return [name for count in counts if (name := self.meant(" ".join(words[:count]))) is not None]
        found, whole, own = [], "", ""
        for count, word in enumerate(words[:most], 1):
            if not _NO_NAME.isdisjoint(word):
                break
            one, other = _letters(word)
            whole, own = whole + one, own + other
            if count > 1 and (name := self._by_words.get(whole) or self._by_words.get(own)) is not None:
                found.append(name)
        return found

    def params(self, name: str) -> tuple[Param, ...]:
        """The parameters of a playbook of this agent."""
        return self._own.get(name, ())

    def playbook(self, klass: str, name: str) -> ParsedPlaybook | None:
        """A playbook of another agent that this one names, or with "" for the class, of this agent."""
        agent = next((other for other in self.others if other.name == klass), None) if klass else self._agent
        return None if agent is None else agent.playbook(name)

    def public(self, klass: str) -> list[ParsedPlaybook]:
        """The public playbooks of another agent that this one names, where they are executed here."""
        found = [other for other in self.others if other.name == klass and other.kind is AgentKind.AI]
        return [one for agent in found for one in agent.playbooks if _is_public(one)]

    def agents_in(self, text: str) -> list[str]:
        """The agents that a text names, in its order, without servers of tools."""
        return self.names.agents(text)

    def participant(self, words: str) -> str | None:
        """The agent or declared person that these words name in a list, in any case and without "Agent" at its end."""
        wanted = _squeezed(words)
        names = [other.name for other in self.others if not other.kind.on_server]
        return next((name for name in names if wanted in (_name(name), _name(_called(name)))), None)

    @cached_property
    def is_named_by_others(self) -> bool:
        """Whether another agent may speak to this one."""
        own = _name(_called(self.own_name))
        return any(own in _squeezed(other.source) for other in self._program.agents if other is not self._agent)

    def why_not_theirs(self, step: str) -> str:
        """Why a step is not for the user: it is for somebody else's people, who are no agents; "" for any other."""
        who = messages.somebody_elses(step)
        return f"it is for {who!r}, and there is no such agent" if who and not self.agents_in(who) else ""

    def absent_too(self, step: str) -> str:
        """Who hears a message besides its first listener, and is no agent: "Tell the parent and the school"."""
        also = phrase("to another, too").begins(step)
        role = also["role"] if also else ""
        if also is None or self.agents_in(role) or phrase("people").is_all_of(role):
            return ""
        known = phrase("people").is_all_of(also["first"]) or self.is_the_user(also["first"])
        return role if known or role.lower() in words_of("served") | words_of("roles") else ""

    @cached_property
    def people(self) -> frozenset[str]:
        """The common nouns, in the singular, for people to whom the agent's steps speak."""
        said = (_singular(noun["who"]) for noun in phrase("addressed").all_inside(self._agent.source))
        return frozenset(noun for noun in said if self._may_be_the_user(noun) or phrase("people").is_all_of(noun))

    def is_the_user(self, noun: str) -> bool:
        """Whether a common noun is what the agent calls the person whom it serves, and the only one."""
        one = _singular(noun)
        return self._may_be_the_user(one) and self.people <= {one}

    def _may_be_the_user(self, noun: str) -> bool:
        return noun in words_of("served") or noun in self._begin or (noun == self._first and not self._begin)

    @cached_property
    def _first(self) -> str:
        """Whom the program's first words are for, as a noun; "" for nobody, or a role that is only told something."""
        playbooks = (playbook for agent in self._program.agents for playbook in agent.playbooks)
        steps = (item.text for playbook in playbooks for step in playbook.steps for item in step.walk())
        for bare in map(phrase("opening").without, steps):
            found = phrase("addressed").begins(bare)
            if found and not phrase("a text").is_all_of(found["who"]):
                one = _singular(found["who"])
                theirs = phrase("somebody's").begins(bare) and one not in words_of("served")
                return "" if theirs or not (phrase("meets").begins(bare) or one not in words_of("roles")) else one
            if phrase("ask always").begins(bare):
                return ""
        return ""

    @cached_property
    def _begin(self) -> frozenset[str]:
        """Who begins the agent's playbooks, by their triggers."""
        triggers = (trigger.text for playbook in self._agent.playbooks for trigger in playbook.triggers)
        found = [found for text in triggers if (found := phrase("begun by").begins(text))]
        said = (who["who"] for who in found if phrase("speaks").begins(who.rest))
        return frozenset(_singular(who) for who in said if not self.agents_in(who))

    def is_an_agent(self, word: str) -> bool:
        """Whether an agent has this name."""
        return word in self._program.names

    def nearly_an_agent(self, word: str) -> bool:
        """Whether a word resembles the name of an agent."""
        return bool(get_close_matches(word, [agent.name for agent in self._program.agents], n=1, cutoff=0.75))

    @cached_property
    def names(self) -> AgentNames:
        """The agents that can be spoken to, and those that are only called."""
        return _names(tuple((one.name, one.kind.on_server, self._may_be_short(one.name)) for one in self.others))

    def _may_be_short(self, name: str) -> bool:
        return _called(name) not in self._program.names

    @cached_property
    def _by_words(self) -> dict[str, str]:
        foreign = [f"{other.name}.{playbook.name}" for other in self.others for playbook in other.playbooks]
        return {_simple(name): name for name in sorted([*self._own, *foreign])}


def _singular(noun: str) -> str:
    return noun.lower().removesuffix("s")


def _is_public(playbook: ParsedPlaybook) -> bool:
    return bool(playbook.metadata.get("public") or playbook.metadata.get("export"))


def _squeezed(text: str) -> str:
    """A text for finding names in any spelling: lower case, without separators."""
    return without_gaps(text).casefold()


@lru_cache(maxsize=4096)
def _name(agent: str) -> str:
    return _squeezed(agent)


@lru_cache(maxsize=256)
def _names(agents: tuple[tuple[str, bool, bool], ...]) -> AgentNames:
    """The agents in any spelling, also without "agent" at their end; one word is then a name only with its capital."""
    known: dict[str, tuple[str, Kind, str]] = {}
    for name, served, short in agents:
        kind: Kind = "SERVER" if served else "AGENT"
        *words, last = spaced(name).split()
        if short and words and last == "Agent" and not served:
            known[_squeezed(" ".join(words))] = (name, kind, words[0] if len(words) == 1 else "")
        known[_squeezed(name)] = (name, kind, "")
    return AgentNames(known)


def _called(agent: str) -> str:
    """A name without the word "Agent" at its end."""
    return agent.removesuffix("Agent") or agent


@lru_cache(maxsize=4096)
def _letters(word: str) -> tuple[str, str]:
    """What `_simple` leaves of one word in a text, and what it leaves of one that is no possessive."""
    return _kept(word), _kept(phrase("possessive").left_out_of(word))


def _kept(text: str) -> str:
    return "".join(WORD.findall(phrase("article").left_out_of(spaced(text)).replace("'", "").replace("_", " "))).lower()


@lru_cache(maxsize=4096)
def _simple(text: str) -> str:
    """A name for comparison: "Create a ticket" and CreateTicket are equal."""
    words = phrase("article").left_out_of(spaced(text))
    return (camel_case(words) or text).lower()


def same_name(first: str, second: str) -> bool:
    """Whether two texts are the same name: "create a ticket" and CreateTicket."""
    return _simple(first) == _simple(second)


def is_meeting(playbook: ParsedPlaybook) -> bool:
    """Whether a playbook is a meeting."""
    return playbook.metadata.get("meeting") is True


def attendees(playbook: ParsedPlaybook, agent: ParsedAgent, program: ParsedProgram, reach: Reach) -> frozenset[str]:
    """The agents that may hear what is said in this meeting: those declared, those that a step invites, and people. A
    playbook that declares nobody may be an invited agent's: then also who is declared anywhere, or takes part."""
    found = {*_declared(playbook), *_invited(agent, reach)}
    found |= {other.name for other in program.agents if other.kind is AgentKind.HUMAN}
    if not _declared(playbook):
        for other in program.agents:
            own = [one for one in other.playbooks if is_meeting(one)]
            found |= {name for one in own for name in _declared(one)}
            if own or other.kind is AgentKind.REMOTE:
                found.add(other.name)
    return frozenset(found)


def held_meeting(subject: str, meetings: Sequence[str]) -> str | None:
    """The meeting of these that the words behind "Hold a …" mean."""
    words = set(WORD.findall(subject.lower()))
    for meeting in meetings:
        wanted = set(spaced(meeting).lower().split())
        if wanted <= words or wanted - {"meeting"} <= words:
            return meeting
    return meetings[0] if len(meetings) == 1 and "meeting" in words else None


def named_after_with(held: str, meeting: str, reach: Reach) -> list[str] | None:
    """Who takes part in "a tasting with Cook"; [] for none or all, None where somebody is nobody known."""
    found: list[str] = []
    if not {"without", "except", "but"}.isdisjoint(held.lower().split()):
        return None
    for part in _parts_after_with(held):
        bare = " ".join(word for word in part.split() if word.lower() not in words_of("articles"))
        name = reach.participant(part) or reach.participant(bare)
        if name is not None or phrase("people outside").is_all_of(bare):
            found.append(name or "user")
            continue
        playbook = reach.playbook("", meeting)
        if not (phrase("everybody").is_all_of(part) and playbook is not None and _declared(playbook)):
            return None
    return found


def _parts_after_with(held: str) -> Iterator[str]:
    """The texts that name participants, up to what the meeting is about."""
    words = held.partition(" with ")[2].replace(",", " , ").split()
    end = next((at for at, word in enumerate(words) if word.lower() in words_of("what for")), len(words))
    listed = " ".join("," if word == "and" else word for word in words[:end])
    yield from (part for one in listed.rstrip(".:;").split(",") if (part := one.strip()))


def _declared(playbook: ParsedPlaybook) -> set[str]:
    return {str(name) for key in MEETING_KEYS for name in playbook.metadata.get(key) or ()}


def _invited(agent: ParsedAgent, reach: Reach) -> Iterator[str]:
    """The agents named in steps that hold a meeting or invite to it."""
    for playbook in agent.playbooks:
        for step in (inner for item in playbook.steps for inner in item.walk()):
            gathers = phrase("hold a meeting").begins(step.text) or phrase("gathers").inside(step.text)
            if gathers and phrase("about a meeting").inside(step.text):
                yield from reach.agents_in(step.text)


def said_to_somebody(text: str, target: str) -> str:
    """A `Say` with its addressee, which is `target` where it names none."""
    said = text[len("Say(") : -1].strip()
    try:
        call = parse_python(f"f({said})").body[0].value  # type: ignore[attr-defined]
        alone = len(call.args) == 1 and not call.keywords
    except (SyntaxError, ValueError, RecursionError, MemoryError, IndexError, AttributeError):
        first = said.partition(",")[0].strip().strip("\"'")
        targeted = "," in said and (phrase("addressees").begins(first) or first.isidentifier())
        alone = not targeted or (said[:1] in "\"'" and " " in first)
    return f"Say({target}, {said})" if alone and said else text
