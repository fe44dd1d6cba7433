"""What is not surely one thing: sentences that a rule reads one way and a person may read another. They stay free."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise

from runtime.language.instructions.actions import goes_to_a_file, unasked
from runtime.language.instructions.conditions.reading import says_that_nothing_came
from runtime.language.instructions.decode import work_of
from runtime.language.instructions.expression import is_unsure_call
from runtime.language.instructions.model import Free
from runtime.language.instructions.steps.course import begins_to_wait, ends_program
from runtime.language.instructions.steps.repeating import begins_loop, heading_before, loop_of
from runtime.language.instructions.steps.setting import settings_of, two_ways
from runtime.language.lowering import messages, phrases
from runtime.language.lowering.answers import answer_in
from runtime.language.lowering.clauses import joints, unquoted
from runtime.language.lowering.governing import why_governed
from runtime.language.lowering.instruction import LoweredInstruction, free, waiting_call
from runtime.language.lowering.sides import beyond_the_test
from runtime.language.program import OpCode
from runtime.language.vocabulary.phrase import phrase, words_of

BOUND = "the largest number of times is part of the sentence"
_LISTS = frozenset({"add", "append"})


class Certainty:
    """Decides before and after the other rules; `no_arguments`: whether a playbook takes none (None: no playbook)."""

    def __init__(
        self, classify: Callable[[str], LoweredInstruction], no_arguments: Callable[[str], bool | None]
    ) -> None:
        self._classify = classify
        self._no_arguments = no_arguments

    def rule(self, text: str, bare: str) -> LoweredInstruction | None:
        """A step that makes a value, is several things, or is surely free; None for what the other rules decide."""
        if figured := phrase("figures out").begins(bare):
            return LoweredInstruction(OpCode.EXE, f"{figured['target']} = {bare}")
        if "(" in bare and is_unsure_call(bare):
            return free(text, "a comma in its numbers may separate arguments, or thousands")
        noted = "(" not in bare and phrases.beginning(bare, words_of("notes"))
        if noted and phrases.variable_behind(bare, words_of("into")):
            readings = settings_of(bare)
            if len(readings) == 1 and readings[0].operator:
                return None
            return free(text, two_ways(readings) if readings[1:] else "it may replace the value or add to it")
        if "$" in bare and goes_to_a_file(unquoted(bare)):
            return free(text, "a file is something else than a variable")
        if _repeats_steps(bare) and loop_of(bare) is None:
            return free(text, "the repeated steps are not below it")
        if got := self._got(text, bare):
            return got
        if head := heading_before(bare):
            known = self._classify(body := bare[len(head) :].lstrip()).known
            each = LoweredInstruction(OpCode.CND, head, body, loop=True)
            return each if known else free(text, "what is repeated is unclear")
        return self._kept(text, bare)

    def _got(self, text: str, bare: str) -> LoweredInstruction | None:
        """ "Get $first from Best" is the call, where Best is a playbook."""
        target = phrases.object_of(bare.rpartition(" from ")[0], words_of("gets"))
        name = bare.rpartition(" from ")[2].strip()
        gets = phrases.beginning(bare, words_of("gets")) != ""
        takes_none = self._no_arguments(name) if gets else None
        if takes_none is None:
            named = gets and target and " " in name and "=" not in name
            given = self._classify(f"{target} = {name}") if named else None
            return given if given is not None and (given.op is OpCode.QUE or not given.known) else None
        if not target:
            return free(text, f"what it gets from {name} is part of the sentence")
        call = waiting_call(f"{target} = {name}()")
        return call if takes_none else free(text, f"the arguments of {name} are not given")

    def _kept(self, text: str, bare: str) -> LoweredInstruction | None:
        """ "Decide whether … and save it as $kind" is a value; "Ask … and add it to $names" is a list that grows."""
        kept = phrase("kept at the end").inside(bare)
        if phrase("writes and returns").begins(bare):
            return LoweredInstruction(OpCode.RET, text)
        if kept is None or phrases.begins_control(bare):
            return None
        if kept["verb"].lower() in _LISTS:
            return free(text, f"what it makes is added to {kept['target']}")
        head = bare[: kept.start()]
        made = phrases.beginning(head, words_of("makes")) or phrase("gives a mark").begins(head)
        sure = made and "(" not in head and not phrase("ask").begins(head)
        return LoweredInstruction(OpCode.EXE, f"{kept['target']} = {head}") if sure else None

    def doubt(self, found: LoweredInstruction, text: str) -> LoweredInstruction | None:
        """The free step in place of an instruction that may mean something else; None where it is sure."""
        plain = unquoted(text)
        why = ""
        if found.op is OpCode.RET and phrases.beginning(found.text, words_of("later than now")):
            why = "when it returns is part of the sentence"
        elif found.op is OpCode.TNK and phrase("bounded").inside(text):
            why = BOUND
        elif found.op is OpCode.TNK and phrases.variable_behind(plain, words_of("into")):
            why = "what it thinks of goes to a variable"
        elif found.op is OpCode.TNK and (acts := next((tail for head, tail in joints(plain) if _acts(head, tail)), "")):
            why = f"{acts[:40]!r} is something else to be done"
        elif found.op is OpCode.EXE and "(" not in plain and (who := unasked(plain)):
            why = who
        elif found.op is OpCode.CND:
            why = self._of_a_condition(found)
        elif found.talk is not None and not found.after:
            ends = found.ends != ""
            why = ("" if ends else _beside_fixed_words(text)) or _of_a_message(text, asks=found.talk.asks, ends=ends)
            returns = ends and phrase("returns something").inside(plain)
            why = "what it returns may be part of what is said" if returns else why
        why = why or why_governed(found, text)
        return free(text, why, whole=found.op is OpCode.CND) if why else None

    def _of_a_condition(self, found: LoweredInstruction) -> str:
        if says_that_nothing_came(_condition(unquoted(found.text))):
            return messages.NO_LIMIT
        if messages.missing_by_a_time(found.text):
            return messages.NO_CLOCK
        why = self._beside_the_action(found) or (beyond_the_test(found.text) if found.body else "")
        return why or (_of_a_loop(found.text) if found.loop else "")

    def _is_sure(self, body: str) -> bool:
        """Whether what depends on a condition is read, and is not done in words."""
        found = self._classify(body)
        worded = found.op is OpCode.EXE and isinstance(work_of(found.text)[0], Free)
        return found.known and (not worded or found.after != () or phrase("says whether").begins(body) is not None)

    def _beside_the_action(self, found: LoweredInstruction) -> str:
        """Why a second condition may not depend on the first: "If $a is 3, say "x", and if $b is 4, say "y""."""
        body = found.body or ""
        worded = "" if found.loop or not body or self._is_sure(body) else unquoted(body)
        if phrase("depends on something").inside(worded):
            return "the scope of its second condition is unclear"
        for head, tail in joints(body):
            bare = phrase("opening").without(tail)
            second = self._classify(bare) if phrase("branch").begins(bare) or begins_loop(bare) else None
            first = self._classify(head) if second and second.op is OpCode.CND and second.body else None
            if first is None or second is None or not first.known or answer_in(second):
                continue
            tested = {*phrases.VARIABLE.findall(second.text)}
            plain = first.op is not OpCode.QUE or (first.talk is not None and not first.talk.asks)
            about = phrases.VARIABLE.findall(f"{first.text} {found.text}" if found.loop else first.text)
            if tested.isdisjoint(about) and (tested or plain):
                return "the scope of its second condition is unclear"
        return ""


def _of_a_loop(heading: str) -> str:
    if phrase("meanwhile").begins(heading):
        return "it may be for that time, and done once"
    return messages.NO_CLOCK if messages.lasts_until_a_time(heading) else ""


def _condition(text: str) -> str:
    """The condition of a sentence, without what is done."""
    first = phrases.CLAUSE_START.search(text)
    return text[: first.start()] if first and " " in text[: first.start()] else text


def _to_people(head: str) -> bool:
    """Whether what follows may be what people are to do: "tell them how to …", and not "ask what to …"."""
    return any(found["to"] for found in phrase("for people to do").all_inside(head))


def _acts(head: str, tail: str) -> bool:
    """Whether a clause behind a thought is work: "Think of two more and add these"."""
    bare = phrase("opening").without(tail)
    verb, _, rest = bare.partition(" ")
    return rest != "" and verb.lower() in words_of("work in a message") | _LISTS and not messages.is_indirect(head)


def _repeats_steps(bare: str) -> bool:
    """Whether steps that stand elsewhere are to be done again: "Repeat the last two steps 3 times"."""
    words = bare.lower().split()
    behind = [word for word in words[1:] if word != "the"][:1]
    again = words[:1] and words[0] in words_of("repeats a step") and behind and behind[0] in words_of("earlier")
    return bool(again) and not {"step", "steps", "steps:"}.isdisjoint(words)


def _beside_fixed_words(text: str) -> str:
    """Why a step is more than its fixed words: "Say "Oh." and take away a life"; "" where it is not."""
    talks = (phrase("tell"), phrase("tell if named"), phrase("ask"), phrase("ask always"), phrase("how"))
    behind = (phrase("opening").without(tail) for head, tail in joints(text) if phrase("says only quoted").begins(head))
    acts = any(not (begins_to_wait(bare.rstrip(" .")) or any(one.begins(bare) for one in talks)) for bare in behind)
    return "something else is to be done, too" if acts else ""


def _of_a_message(text: str, *, asks: bool, ends: bool) -> str:
    """Why a message may be more than one; "" where it is sure."""
    text = phrase("answer kept").left_out_of(text)
    plain = unquoted(text)
    if phrase("at most").inside(plain):
        return BOUND
    if phrase("condition of a message").inside(plain) or phrases.other_sides(plain):
        return "the scope of its condition is unclear"
    if (until := phrase("until").inside(plain)) and says_that_nothing_came(until["what"]):
        return messages.NO_LIMIT
    words = plain.lower().split()
    lasting = any(one == "to" and two in words_of("lasting") for one, two in pairwise(words))
    if asks and lasting and phrase("until").inside(plain):
        return "until when may be part of what is asked"
    for head, tail in joints(plain):
        bare = phrase("opening").without(tail).strip(" .;")
        first = bare.partition(" ")[0].lower()
        apart = "," in plain[len(head) : len(plain) - len(tail)] or not messages.is_indirect(head)
        jumps = not apart if bare.lower() == "return" else phrase("goes").begins(bare) and not _to_people(head)
        if jumps:
            return f"{bare[:40]!r} may be part of what is said"
        if first in words_of("ends") and not ends and not messages.in_a_list(head, f", {bare}"):
            return f"{bare[:40]!r} may be part of what is said"
        works = phrase("works on something").begins(bare) and not messages.may_go_on(head)
        works = works or phrase("of something").inside(bare)
        works = works or (" " in bare and phrase("replies").begins(head))
        works = works and not (ends and ends_program(bare)) and not phrase("idiom").begins(bare)
        works = (
            works
            and not (asks and (first == "set" or phrase("asks or lets").begins(bare)))
            and not phrase("lets know").begins(bare)
        )
        if first in words_of("work in a message") and works and not _to_people(phrase("to people").left_out_of(head)):
            return f"{bare[:40]!r} may be part of what is said"
        if phrase("gives more than words").begins(bare) and not messages.is_indirect(head):
            return f"{bare[:40]!r} may be more than words"
    return ""
