"""The meaning of steps that speak to somebody or wait for somebody."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from difflib import get_close_matches

from msgspec.structs import replace

from runtime.language.instructions.model import Template, VariableTarget, Wait
from runtime.language.instructions.operands import said_words
from runtime.language.instructions.steps.course import begins_to_wait, course_of
from runtime.language.instructions.steps.hearing import NamedListeners, listeners
from runtime.language.instructions.talk import AnswerWait, TalkLine
from runtime.language.lowering import messages, phrases
from runtime.language.lowering.clauses import joints, open_text, unquoted
from runtime.language.lowering.instruction import ANY_ANSWER, LoweredInstruction, LoweredTalk, free, source_of, speaking
from runtime.language.lowering.questions import AskedVariables
from runtime.language.lowering.scope import Reach
from runtime.language.program import OpCode
from runtime.language.vocabulary.phrase import PhraseMatch, phrase, words_of
from runtime.language.vocabulary.word_list import words_of_text

_YIELDED = frozenset({"call", "return", "exit"})
_OUTSIDE = frozenset({"user", "human", "customer"})
_BEHIND_WHOM = frozenset({"for", "to", "about", "whether", "if", "that", ","})
_NO_WAIT = "what is waited for is not a person, an agent or a length of time"
_SHORTEST = 6
_PRIVATELY = ("privately", "confidentially", "discreetly")


class Speech:
    """Tells who is spoken to in the steps of one playbook, in a `meeting` of `attendees` or not; `partners` so far."""

    def __init__(self, reach: Reach, *, meeting: bool, attendees: Collection[str] | None = None) -> None:
        self.partners: list[str] = []
        self._perhaps: set[str] = set()  # the agents in free steps, which may speak with them
        self.absent = ""  # the person besides the user for whom the last step of such kind was
        self.answered_next = ""  # whether the next step waits for an answer, or depends on it
        self.questions = AskedVariables(meeting=meeting)
        self._reach = reach
        self._meeting = meeting
        self._attendees = attendees

    def waiting(self, text: str, bare: str) -> LoweredInstruction | None:
        kept = phrase("answer kept").inside(bare) if begins_to_wait(bare) else None
        waits = self._waiting(text, bare[: kept.start()] if kept else bare)
        if not (kept and waits):
            return waits
        if waits.text != "for user" or kept["more"]:
            return free(text, _NO_WAIT)
        wanted = VariableTarget(kept["name"], (kept["type"] or "").removeprefix(":"))
        return speaking(TalkLine(waits=(AnswerWait("user", (wanted,)),)))

    def _waiting(self, text: str, bare: str) -> LoweredInstruction | None:
        if messages.waits_for_a_time(bare):
            return free(text, messages.NO_CLOCK)
        if (course := course_of(bare)) is None or not isinstance(course.does, Wait):
            return None
        whom = course.said or "user"
        if bare.lower().startswith("yield") and (ends := whom.lower()) in _YIELDED:
            return LoweredInstruction(OpCode.YLD, "for call") if ends == "call" else speaking(TalkLine(ends=ends))
        if phrase("wait with a limit").inside(bare):
            return free(text, messages.NO_LIMIT)
        if phrase("code").inside(whom):
            return free(text, _NO_WAIT)
        agents = [] if messages.belongs_to_a_person(whom) else self._reach.agents_in(whom)
        person = phrase("people outside").begins(whom.removeprefix("the ")) is not None
        if len(agents) + person > 1 and "or" in whom.lower().split():
            return free(text, "it waits for the first of several")
        others = self._others(f"for {whom}")
        if agents and person and not others:
            return free(text, f"it may be for the user, or for {agents[0]}")
        if others or agents:
            waits = sorted(["user" if person else agents[0], *others], key=lambda one: one == "user")
            return _waiting(*waits)
        if self._meeting and _OUTSIDE.isdisjoint(words_of_text(whom).words):
            return _waiting("meeting")
        return self._waiting_for_people(text, whom)

    def _waiting_for_people(self, text: str, whom: str) -> LoweredInstruction:
        if said := phrase("waits for words").begins(whom):
            who = said["who"].lower().removeprefix("the ")
            if who in ("they", "he", "she") or phrase("people").is_all_of(who) or self._reach.is_the_user(who):
                return speaking(TalkLine(waits=(AnswerWait("user", until=whom),)))
        if self.absent and phrase("one person").begins(whom):
            return free(text, f"it may be for {self.absent!r}")
        if phrase("people").inside(whom) or phrase("brings an answer").inside(whom):
            return _waiting("user")
        return free(text, _NO_WAIT)

    def talking(self, text: str, bare: str) -> LoweredInstruction | None:
        if any(one.first[0] == "server" for one in self._named(bare)):
            return LoweredInstruction(OpCode.EXE, text)
        if phrase("to itself").begins(bare):
            return None
        target = self.addressee(bare)
        asks = self._asks(text, bare, target)
        if not (asks or self._tells(bare, target)):
            if not (self._meeting and phrase("take part").begins(bare)):
                return None
            asks, target = True, "meeting"
            if messages.only_waits(bare):
                return free(text, "for what it waits is part of the sentence")
        asks = asks and phrase("without an answer").inside(unquoted(bare)) is None
        said = text[: behind.start()].rstrip() if (behind := phrase("yield behind").inside(text)) else text
        if unsure := self._nobody_known(text, bare, target) or self._perhaps_another(text, bare, said, asks):
            return unsure
        if target is None and not self._meeting and self.partners and "user" not in self.partners:
            if len(self.partners) > 1 or not phrase("replies").begins(bare):
                names = ", ".join(self.partners)
                return free(text, f"it does not say to whom: {names}, or the user")
            target = self.partners[0]
        others = self._others(bare)
        hears = self._unsure_who_hears if self._meeting else self._also_for
        if unsure := hears(text, bare, target, others):
            return unsure
        heard_by = self.target(target, text)
        return self.spoken(LoweredTalk(heard_by, said, tuple(others) if heard_by != "meeting" else (), asks))

    def _perhaps_another(self, text: str, bare: str, said: str, asks: bool) -> LoweredInstruction | None:
        """A free step for a message that may be more, or be said later, or ask for a value or about it."""
        if (named := self._named(bare)) and named[0].doubt:
            return free(text, named[0].doubt)
        acts = None if phrase("lets know").begins(bare) else phrase("lets do").begins(bare)
        who, name = named[0].first if acts and named else ("", "")
        people = who in ("user", "person") and not (acts and acts["speaks"]) and not phrase("decides").inside(bare)
        if who == "agent" or people:
            return free(text, f"what {name or 'somebody'} does is more than words")
        if asks and self._others(bare) and len({*phrases.VARIABLE.findall(unquoted(bare))} - self.questions.given) > 1:
            return free(text, "whose answer is kept is unclear")
        if (asks or phrase("to a role").begins(bare)) and not self.answered_next and messages.only_offers(bare):
            return free(text, "whether an answer is waited for is not said")
        if asks and "$" in bare and phrase("options in words").inside(bare):
            return free(text, messages.BUTTONS)
        if (about := phrase("about their value").inside(bare)) and about["name"] in self.questions.given:
            return free(text, "it may ask for a value that is there, or about it")
        more = messages.more_than_words(bare, asks=asks, meeting=self._meeting, given=self.questions.given)
        more = more or self._reach.why_not_theirs(bare) or (self.questions.may_ask_again(bare) if asks else "")
        return free(text, more) if more else messages.perhaps_over(text, said) or messages.perhaps_later(text, bare)

    def _unsure_who_hears(
        self, text: str, bare: str, target: str | None, others: Sequence[str]
    ) -> LoweredInstruction | None:
        """A step of a meeting that may be meant for only some of its participants."""
        private = self._private(text)
        if private and target in (None, "meeting") and not phrase("everybody").inside(bare):
            return free(text, "it does not say who is spoken to in private")
        whom = messages.before_what(text)
        if not private and phrase("perhaps in private").inside(whom) and self._reach.agents_in(whom):
            return free(text, "it is unclear whether the others in the meeting may hear it")
        direct = [name for name in (target, *others) if self._outside(name)]
        if others and "user" in others and not private:
            return free(text, "the meeting is to hear it, and the user")
        if others and 0 < len(direct) <= len(others) and not private:
            return free(text, f"{direct[0]} is not in the meeting, others are")
        return None

    def _also_for(self, text: str, bare: str, target: str | None, others: Sequence[str]) -> LoweredInstruction | None:
        """A free step for words to people and an agent: "Inform both the employee and Director"."""
        for role in (self._somebody_else(phrase("opening").without(tail)) for _, tail in joints(bare, 8)):
            known = role and (self._reach.is_the_user(role["who"]) or self._reach.agents_in(role["who"]))
            if role and role["who"].lower() in phrases.ROLES and not known:
                return free(text, f"it is for {role['who']!r}, too, and there is no such agent")
        if target not in (None, "user") and phrase("tells nothing yet").begins(bare):
            return free(text, f"whether it is all for {target} is unclear")
        told = messages.before_what(phrases.VARIABLE.sub("this", bare)).rstrip(" .")
        start = next((one.start for one in self._named(told)), 0)
        tokens = [one for one in self._reach.names.tokens(told) if one.text != "the" and one.at >= start]
        agent = False
        for before, one, behind in zip(tokens, tokens[1:], (*tokens[2:], None), strict=False):
            noun = agent and told[: one.at].endswith(" and the ") and not phrase("people").is_all_of(one.text)
            named = (one.kind == "AGENT" or noun) and one.text not in (target, *others)
            also = before.text in ("and", "then") and named
            if also and (before.text == "then" or behind is None or behind.text in _BEHIND_WHOM):
                return free(text, f"whether it is for {one.text}, too, is unclear")
            agent = before.kind == "AGENT"
        return None

    def spoken(self, talk: LoweredTalk) -> LoweredInstruction:
        """The instruction for words to somebody."""
        said, anew = self.questions.in_full(talk)
        line = TalkLine((talk.target, *talk.others), said)
        over = phrase("and end").inside(said)
        if over and not messages.has_the_end(said[: over.start()], over.whole):
            return speaking(_ending(line, over.start(), "exit"), talk)
        if returns := phrase("and return").inside(unquoted(said)):
            last = said[returns.end() :].strip(" .") == ""
            return speaking(_ending(line, returns.start() if last else 0, "return"), talk)
        if not talk.asks:
            return speaking(line, talk)
        kept = phrase("answer kept").inside(said) or phrase("waits behind").inside(said)
        before = said[: kept.start()].rstrip() if kept else ""
        exact = before != "" and isinstance(said_words(before, line.targets), Template)
        several = len(talk.others) > 0
        whom = sorted(line.targets, key=lambda one: one == "user")
        waits = [self.wait_for(one, said, several=several, anew=anew, exact=exact) for one in whom]
        if several and not any(one.done for one in waits):
            waits[-1] = replace(waits[-1], until="all have answered")
        return speaking(replace(line, said=before if exact else said, waits=tuple(waits)), talk)

    def heard(self, target: str) -> None:
        """Note an addressee, who is meant when a later step names nobody."""
        self.absent = ""
        if target in self.partners:
            self.partners.remove(target)
        self.partners.append(target)

    def _nobody_known(self, text: str, bare: str, target: str | None) -> LoweredInstruction | None:
        """A step that names somebody whom only the running program knows, or nobody."""
        if phrase("several").inside(bare) and len({*self.partners, *self._perhaps} - {"user"}) > 1:
            return free(text, "which of them are meant is known only when it runs")
        variable = phrase("to a variable at once").begins(bare)
        if variable and any(one.lead == "to" and one.start == variable.end() + 1 for one in self._named(bare)):
            variable = None  # "Message $text to the user"
        variable = variable or (phrase("to a variable").begins(bare) if target is None else None)
        if variable and ("{" not in variable.whole or variable["who"][1:] in self.questions.worded):
            who = variable["who"]
            return free(text, f"who {who} is, is known only when it runs")
        named = phrase("to a name").begins(bare)
        if named and target is None and not phrase("people").begins(named["who"]):
            return free(text, f"there is no agent {named['who']}")
        if role := self._reach.absent_too(bare):
            return free(text, f"it is for {role!r}, too, and there is no such agent")
        pronoun = target == "user" and self._spoken_to(bare) is None and phrase("people outside").inside(bare) is None
        other = self._somebody_else(bare) if target is None or pronoun else None
        known = other and phrase("somebody known").begins(other["who"])
        if other and not (known or (pronoun and self._reach.is_the_user(other["who"]))):
            return free(text, f"it is for {other['who']!r}, and there is no such agent")
        spoken = self._spoken_to(bare) if self.absent and target == "user" else None
        if spoken and phrase("one person").inside(bare[spoken.start : spoken.end]):
            return free(text, f"it may be for {self.absent!r}")
        if target is None and not (self._meeting or self.partners) and phrase("to who asked").inside(bare):
            return free(text, "who is answered is known only when it runs") if self._reach.is_named_by_others else None
        meant = phrase("to a name behind").begins(unquoted(bare)) if target is None else None
        if meant and self._reach.nearly_an_agent(meant["who"]):
            return free(text, f"there is no agent {meant['who']}")
        unknown = next((name for one in self._named(bare) for kind, name in one.who if kind == "unknown"), "")
        absent = target is None and unknown and not self._reach.is_an_agent(unknown)
        return free(text, f"there is no agent {unknown}") if absent else None

    def note(self, text: str) -> None:
        """Note a free step, which may be for somebody else, whom a later "him" or "her" means."""
        self._perhaps.update(self._reach.agents_in(text))
        other = self._somebody_else(text)
        if other and not (phrase("people").begins(other["who"]) or self._reach.is_the_user(other["who"])):
            self.absent = other["who"]

    @staticmethod
    def _somebody_else(bare: str) -> PhraseMatch | None:
        """The common noun of a step for somebody who may be another person than the user."""
        role = phrase("to a role").begins(bare) or phrase("to a role behind").begins(unquoted(bare))
        known = role is not None and phrases.ROLES & {role["who"].lower(), role["who"].lower().removesuffix("s")}
        return role if known else phrase("to somebody else").begins(bare)

    def begun_by_the_user(self, trigger: str) -> bool:
        """Whether a trigger is about what the user does."""
        who = phrase("begun by").begins(trigger)
        named = phrase("people outside").inside(trigger) is not None
        return named or (who is not None and not self._meeting and self._reach.is_the_user(who["who"]))

    def _tells(self, bare: str, target: str | None) -> bool:
        to_somebody = target is not None and phrase("tell if named").begins(bare)
        known = {*phrases.VARIABLE.findall(bare)} <= self.questions.given
        alone = known and phrase("propose").begins(bare) and not self._reach.is_named_by_others
        told = phrase("tell").begins(bare) or phrase("asks for no words").begins(bare)
        return bool(told or to_somebody or alone or (self._meeting and phrase("tell a meeting").begins(bare)))

    def _asks(self, text: str, bare: str, target: str | None) -> bool:
        if self._needs_no_words(bare):
            return False
        if phrase("ask always").begins(bare) or (text.rstrip().endswith("?") and not phrase("think").begins(bare)):
            return True
        if self.answered_next == "depends" and (phrase("propose").begins(bare) or phrase("offers").begins(bare)):
            return True
        if phrase("together").begins(bare) and any(one.lead == "with" for one in self._named(bare)):
            return True
        if target and phrase("ask").begins(bare):
            from_agent = any(one.lead == "from" and one.first[0] == "agent" for one in self._named(bare))
            if from_agent or self._spoken_to(bare) or not phrase("ask if object").begins(bare):
                return phrase("lets know").begins(bare) is None
        open_brackets = unquoted(bare.replace("(", " ").replace(")", " "))
        asks = phrase("asks inside").inside(open_brackets) if self._tells(bare, target or "user") else None
        if asks is None or self._needs_no_words(bare[asks.end() - len("ask") :]):
            return False
        return not messages.is_told_to(bare[: asks.start()], bare[asks.end() :], asks.whole)

    def _needs_no_words(self, bare: str) -> bool:
        """Whether a question is for what people do, and its words ask for no value."""
        known = {*phrases.VARIABLE.findall(unquoted(bare))} <= self.questions.given
        return known and bool(phrase("asks for no words").begins(bare)) and not phrase("until").inside(bare)

    def _named(self, bare: str) -> Sequence[NamedListeners]:
        """Those whom a sentence names, from the part that names the listener: "Introduce Cook to the user"."""
        return listeners(open_text(bare), self._reach.names)

    def addressee(self, bare: str) -> str | None:
        """The addressee: the first agent, person or group named as the object of the verb or after "to"."""
        named = self._named(bare)
        agents = (one for one in named if one.first[0] == "agent")
        agent = next((one for one in agents if not messages.is_a_thing(bare[one.start : one.end])), None)
        person = self._spoken_to(bare)
        if agent and (not person or agent.start <= person.start):
            return agent.first[1]
        if person:
            return self._person(bare[person.start : person.end])
        role = phrase("to a role").begins(bare) or phrase("to a role behind").begins(unquoted(bare))
        if role and not self._meeting and self._reach.is_the_user(role["who"]):
            return "user"
        if self._meeting:
            return "meeting" if phrase("everybody").inside(bare) else None
        if phrase("says quoted").begins(bare):
            return "user"  # fixed words without an addressee are for whom the program is for
        anywhere = (phrase("for people") if phrase("tell if named").begins(bare) else phrase("people")).inside(bare)
        return self._person(anywhere.whole) if anywhere else None

    def _person(self, words: str) -> str | None:
        """The person or agent that a pronoun means: "him" may be an agent in the conversation."""
        if self.partners and "user" not in self.partners and phrase("pronoun").inside(words):
            return self.partners[0] if len(self.partners) == 1 else None
        return "user"

    def _others(self, bare: str) -> list[str]:
        """The other addressees: "Alice and Bob", "the user, Cook and Waiter"."""
        several = next((one.who[1:] for one in self._named(bare) if one.who[1:] and not one.doubt), ())
        return [name for kind, name in several if kind == "agent"] + ["user"] * (("user", "") in several)

    def _spoken_to(self, bare: str) -> NamedListeners | None:
        people = ("user",) if self._meeting else ("user", "person")
        return next((one for one in self._named(bare) if one.first[0] in people), None)

    def target(self, target: str | None, text: str) -> str:
        """In a meeting, words for one of its attendees are said to all, unless the step says "privately"."""
        if not self._meeting:
            return target or "user"
        if target is not None and (target == "user" or self._private(text) or self._outside(target)):
            return target
        return "meeting"

    def _outside(self, name: str | None) -> bool:
        """Whether somebody cannot hear the meeting's messages."""
        attendees = self._attendees
        return attendees is not None and name not in (None, "user", "meeting") and name not in attendees

    def _private(self, text: str) -> bool:
        words = unquoted(text)
        if phrase("in private").inside(words):
            return True
        long = (word for word in words_of_text(words).words if len(word) >= _SHORTEST)
        return any(get_close_matches(word, _PRIVATELY, n=1, cutoff=0.8) for word in long)

    def wait_for(
        self, target: str, said: str, *, several: bool = False, anew: Sequence[str] = (), exact: bool = False
    ) -> AnswerWait:
        """The wait for an answer, by one of `several` agents or by the only one. What it asks for `anew` it does not
        name itself. Behind `exact` words the types of its variables are named here alone."""
        until = until_of["what"] if (until_of := phrase("until").inside(said)) else ""
        kept = phrase("answer kept").inside(said)
        if target == "user":
            names = anew or self._wanted_of_the_user(said, kept)
            until = f"it is {until}" if until and names and " " not in until else until
        else:
            names = () if several else self._wanted_of_others(said, kept)
        kinds = {one[1]: one[0].removeprefix(f"${one[1]}:") for one in phrases.VARIABLE.finditer(said) if ":" in one[0]}
        wants = tuple(VariableTarget(name, kinds.get(name, "") if exact else "") for name in names)
        return AnswerWait(source_of(target), wants, until or (ANY_ANSWER if target == "user" and not wants else ""))

    def _wanted_of_others(self, said: str, kept: PhraseMatch | None) -> Sequence[str]:
        """What agents, or a meeting, are asked for: what has no value yet, or is named by a question alone."""
        asked_for = {match["name"] for match in phrase("asked for").all_inside(said)}
        states = {
            name
            for match in phrase("talked about").all_inside(said)
            if phrase("state of a variable").inside(match.whole)
            for name in phrases.VARIABLE.findall(match.whole)
        }
        known = set() if kept else states | (self.questions.given - asked_for)
        named = dict.fromkeys(phrases.VARIABLE.findall(kept.whole if kept else said))
        return [name for name in named if name not in known]

    def _wanted_of_the_user(self, said: str, kept: PhraseMatch | None) -> Sequence[str]:
        tells = any(one.begins(said) for one in (phrase("tell"), phrase("ask if object")))
        tells = tells or phrases.beginning(said, words_of("hands over")) != ""
        asked = phrase("asks inside").inside(unquoted(said)) if tells else None
        wanted = self.questions.wanted(said[asked.start() :] if asked else said)
        if not kept:
            return wanted
        asks_more = (one for one in phrases.VARIABLE.finditer(said) if said[one.end() : kept.start()].strip())
        typed = {one[1] for one in asks_more if ":" in one[0]}
        return list(dict.fromkeys([*filter(typed.__contains__, wanted), *phrases.VARIABLE.findall(kept.whole)]))


def _waiting(*targets: str) -> LoweredInstruction:
    return speaking(TalkLine(waits=tuple(AnswerWait(source_of(one)) for one in targets)))


def _ending(line: TalkLine, at: int, ends: str) -> TalkLine:
    """A message that ends something, without the words `at` which it says so, where it is in quotes alone."""
    before = line.said[:at].rstrip(" ,")
    return replace(line, said=before if phrase("says only quoted").begins(before) else line.said, ends=ends)
