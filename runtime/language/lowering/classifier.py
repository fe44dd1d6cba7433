"""The classifier of steps: the rules, in the order in which they are tried."""

from __future__ import annotations

import ast
from collections.abc import Collection, Sequence
from functools import lru_cache
from itertools import islice

from msgspec.structs import replace

from runtime.language.instructions.actions import talk_of
from runtime.language.instructions.conditions.reading import read_condition
from runtime.language.instructions.expression import Expression
from runtime.language.instructions.lookups import named_in
from runtime.language.instructions.model import Call, End, Jump, Leave, Return
from runtime.language.instructions.steps.course import course_of, jump_behind
from runtime.language.instructions.steps.repeating import (
    begins_loop,
    branch_of,
    is_limit,
    loop_of,
    repeats_steps,
    tests_more,
    times_said,
    without_then,
)
from runtime.language.instructions.steps.setting import SetReading, doubt_about, settings_of
from runtime.language.instructions.talk import TalkLine
from runtime.language.instructions.text import CALL, CALLED
from runtime.language.instructions.values import result_of
from runtime.language.lowering import messages, phrases
from runtime.language.lowering.background import Background
from runtime.language.lowering.certainty import Certainty
from runtime.language.lowering.clauses import joints, open_text, outside, unquoted
from runtime.language.lowering.compound import Compound
from runtime.language.lowering.instruction import LoweredInstruction, PartReadings, free, speaking, waiting_call
from runtime.language.lowering.named_calls import NamedCalls, Remembering
from runtime.language.lowering.scope import Reach, held_meeting, named_after_with, said_to_somebody
from runtime.language.lowering.sides import if_so, is_exact
from runtime.language.lowering.speech import Speech
from runtime.language.program import OpCode
from runtime.language.vocabulary.phrase import phrase, words_of

_MOST_CLAUSES = 12
_MORE_THAN_A_VERB = 2
_ABOVE = [[one] for one in ("this", "that", "it", "these", "all", "everything", "until", "while")]
_CHECKS = frozenset({"validate", "check", "verify"})
_UNKNOWN = "no rule knows what it means"


class Classifier:
    """Classifies the steps of the playbook `within`. `meetings` are the playbooks that it may hold; in a `meeting` of
    its own, `attendees` are the agents that may hear its messages. The lowerer keeps the `partners` of its `speech`."""

    def __init__(
        self,
        reach: Reach,
        *,
        within: str = "",
        meetings: tuple[str, ...] = (),
        meeting: bool = False,
        attendees: Collection[str] | None = None,
    ) -> None:
        self.speech = Speech(reach, meeting=meeting, attendees=attendees)
        self.background = Background(reach, self.speech.partners)
        self._remembering = Remembering(reach)
        self.asked_before: str | None = None
        """The condition that completes the previous step, if that step waits for the answer to a question."""
        self.loops = 0
        """How many loops are around the step that is read."""
        self._reach = reach
        self._within = within
        self._named_calls = NamedCalls(reach, within)
        self._meetings = meetings
        self._parts = PartReadings(self._classified)
        self._compound = Compound(reach, self.speech, self.classify, meeting=meeting)
        self._certainty = Certainty(self.classify, self._takes_nothing)
        self._rules = (
            self.speech.questions.adding,
            self._certainty.rule,
            self._named,
            self.background.starting,
            self.background.waiting,
            self.background.telling,
            self._remembering.rule,
            self._asks_again,
            self._course,
            self._control,
            self._meeting,
            self._note,
            self._call,
            self.speech.waiting,
            self.speech.talking,
            self.speech.questions.thinking,
            self._work,
        )

    def classify(self, text: str, *, whole: bool = False) -> LoweredInstruction:
        """The instruction for a step; a free one where no rule fits for certain. A `whole` text is one sentence."""
        return self._parts.of(text, whole=whole)

    def _classified(self, text: str, whole: bool) -> LoweredInstruction:
        text = messages.without_going_on(phrases.plain(text), in_a_loop=self.loops > 0)
        if match := phrases.PBASM.match(text):
            return LoweredInstruction.written(OpCode(match[1]), match[2].strip())
        if offer := phrase("offers options").is_all_of(_bare(text)):
            options = ", ".join(messages.QUOTATION.findall(offer["options"]))
            return waiting_call(f"{offer['target']} = Ask({offer['question']}, [{options}])")
        if one := phrase("set to one of several").inside(text.rstrip(" .")):
            kept = f"{one['target']}:str"
            chosen = self.classify(f"{text[: one.start()].rstrip()}, and set {kept}", whole=whole)
            if chosen.known and chosen.text.startswith(f"{kept} = "):
                return replace(chosen, text=f"{chosen.text}: {one['options']}")
            quoted = messages.QUOTATION.findall(one["options"])
            if asked := chosen.with_choices(kept, f" to {one['options']}", quoted):
                return asked
        if not whole and (several := self._compound.in_parts(text, _bare(text))):
            return several
        found = self._one(text)
        found = found if whole else self._compound.checked(found, text, _bare(text))
        return (self._certainty.doubt(found, text) if found.known else None) or found

    def alone(self, text: str) -> LoweredInstruction:
        """A condition without steps below it, whose sentence contains the action."""
        cuts = [match for match in phrases.CLAUSE_START.finditer(open_text(text)) if text[match.end() :].strip()]
        rest = text[cuts[0].end() :] if cuts else ""
        above = text.lower().split()[1:2] in _ABOVE
        repeats = repeats_steps(text) and (above if not cuts else not self.classify(rest).known)
        if repeats or (not cuts and begins_loop(text)):
            return free(text, "the repeated steps are not below it")
        if not cuts:
            return LoweredInstruction(OpCode.CND, text)
        if len(cuts) > 1 or phrases.other_sides(open_text(rest)):
            return free(text, "the end of its condition is unclear")
        if begins_loop(text) and (inside := self.classify(rest)).op is OpCode.CND and inside.body is None:
            return free(text, "what is repeated is unclear")
        head = text[: cuts[0].start()].rstrip(" :")
        return LoweredInstruction(OpCode.CND, head, rest, begins_loop(_bare(text)))

    def _one(self, text: str) -> LoweredInstruction:
        bare = _bare(text)
        return next((found for rule in self._rules if (found := rule(text, bare))), free(text, _UNKNOWN))

    def _named(self, text: str, bare: str) -> LoweredInstruction | None:
        if (name := phrases.whole_call(bare)) and self._reach.knows(name):
            return self._calling(name, bare)
        called = phrase("call word").without(bare)
        known = self._named_calls.meant(bare) or (self._reach.meant(called) if called != bare else None)
        return waiting_call(f"{known}()") if known else None

    def _takes_nothing(self, name: str) -> bool | None:
        return not self._reach.params(name) if self._reach.knows(name) and name != self._within else None

    def _asks_again(self, text: str, bare: str) -> LoweredInstruction | None:
        """ "Keep asking until valid" after a question: nothing is asked again if the first answer is valid."""
        checks = [tail for head, tail in joints(bare) if head.partition(" ")[0].lower() in _CHECKS and "(" not in head]
        bare = next((tail for tail in checks if phrase("keep asking").begins(tail)), bare)
        until = phrase("until").inside(bare)
        if self.asked_before is None or until is None or not phrase("keep asking").begins(bare):
            return None
        what = until["what"]
        condition = what if " " in what else f"it is {what}"
        said = bare[: until.start()].rstrip(" ,")
        wanted = phrases.VARIABLE.findall(what) or phrases.VARIABLE.findall(self.asked_before)
        if wanted[1:] and "$" not in what and len(wanted := [one for one in wanted if one in what.split()]) != 1:
            return free(text, "which of them is asked again is unclear")
        names = [f"${name}" for name in dict.fromkeys(wanted) if f"${name}" not in said]
        return LoweredInstruction(
            OpCode.CND, f"Until {condition}", f"{said} for {' and '.join(names)}" if names else said, loop=True
        )

    def _control(self, text: str, bare: str) -> LoweredInstruction | None:
        if found := if_so(text, bare):
            return found
        loop = begins_loop(bare)
        otherwise = phrase("else").begins(bare)
        if not (loop or otherwise or phrase("branch").begins(bare)):
            return None
        if loop and (often := times_said(bare)):
            above = bare.lower().split()[1:2] in _ABOVE
            return LoweredInstruction(OpCode.CND, bare.rstrip(" :") if above else f"Repeat {often}", loop=True)
        if otherwise and otherwise.rest and not phrase("branch").begins(otherwise.rest):
            return LoweredInstruction(OpCode.CND, otherwise.whole.rstrip(" ,:"), otherwise.rest)
        if phrase("switch").begins(bare):
            return free(text, "the choice among several cases is part of the sentence", whole=True)
        again = phrase("again if").begins(bare) is not None
        whole = phrase("before a condition").without(text)
        below = without_then(whole.rstrip(" :")) if loop else whole
        whole = below if below != whole.rstrip(" :") else whole
        head, body = (whole, None) if again else self._split_clause(whole)
        return LoweredInstruction(OpCode.CND, head.rstrip(" :"), body, loop or again)

    def _split_clause(self, text: str) -> tuple[str, str | None]:
        """The condition and the action, if an instruction follows a comma, colon or "then"."""
        for match in islice(phrases.CLAUSE_START.finditer(open_text(text)), _MOST_CLAUSES):
            rest = text[match.end() :]
            if ";" in unquoted(text[: match.start()]):
                break
            if text[: match.start()].rstrip().endswith((" and", " or")):
                continue  # "If they come, wait for them and then greet them"
            if rest and (split := self._split_at_verb(text[: match.start()])):
                return split[0], text[len(split[0]) :].lstrip()
            if (is_limit(rest) and not repeats_steps(rest)) or tests_more(text, rest):
                continue  # how often, and what is tested besides, belong to the condition
            several = phrases.other_sides(open_text(rest)) != []
            if not rest or (
                phrase("branch").begins(rest) and not (self._is_exact(text[: match.start()], rest) and not several)
            ):
                continue
            if self.classify(rest).known:
                return (text, None) if several else (text[: match.start()], rest)
            talks = phrase("ask").begins(rest) is not None and self._is_exact(text[: match.start()], rest)
            if not several and (self._begins_to_act(rest) or talks):
                return text[: match.start()], rest
            if match[0].startswith(":"):
                return text, None
        return self._split_at_verb(text) or (text, None)

    @staticmethod
    def _is_exact(heading: str, condition: str) -> bool:
        """Whether a heading before a condition is whole: "If $a is 3, then if …", "For each $x in $xs, if …"."""
        branch = branch_of(heading)
        if branch is None and (loop := loop_of(heading)) is not None:
            leaves = condition.lower().startswith("unless")  # it may end the loop
            return isinstance(loop.over, Expression) and not leaves
        return branch is not None and read_condition(branch.test) is not None

    def _begins_to_act(self, rest: str) -> bool:
        """Whether the condition has ended, because an action begins: "say that it is over, and …"."""
        cut = phrases.CLAUSE_START.search(open_text(rest))
        first = self.classify(rest[: cut.start()]) if cut and cut.start() else None
        if cut is None or first is None:
            return False
        speaks = phrase("tell").begins(rest) or phrase("ask always").begins(rest)
        if first.known:
            return first.op is OpCode.QUE or is_exact(rest[: cut.start()])
        return bool(speaks) and len(rest[: cut.start()].split()) > _MORE_THAN_A_VERB

    def _split_at_verb(self, text: str) -> tuple[str, str] | None:
        """An exact condition and the action right behind it: "If $kind is "red" call Find". None for any other."""
        branch = phrase("test at start").begins(text)
        if branch is None or phrases.other_sides(open_text(text), branch.end()):
            return None
        plain = unquoted(text)
        gaps = (at for at, char in enumerate(plain) if char.isspace() and plain[at + 1 : at + 2].isalpha())
        for at in islice((gap for gap in gaps if gap > branch.end()), _MOST_CLAUSES):
            rest = text[at:].strip()
            test = read_condition(text[branch.end() : at])
            if (
                phrase("no action").begins(rest)
                or test is None
                or isinstance(test.tree, ast.Name | ast.Attribute | ast.Subscript)
            ):
                continue  # "If $player quit the game": what stands alone may be who does it
            if self.classify(rest).known:
                return text[:at], rest
        return None

    def _course(self, text: str, bare: str) -> LoweredInstruction | None:
        if not self.loops and phrase("goes on from here").is_all_of(bare):
            return LoweredInstruction(OpCode.EXE, messages.NOTHING)
        found = course_of(bare) or jump_behind(bare)
        if found is None:
            return None
        match found.does:
            case End():
                return speaking(TalkLine(ends="exit"))
            case Leave():
                return LoweredInstruction(OpCode.EXE, bare)
            case Jump(line=line, unless=unless):
                word = "unless" if unless else "if"
                return LoweredInstruction(OpCode.JMP, f"{line} {word} {found.said}" if found.said else line)
            case Call(name=name):
                call = f"{name}({found.said})"
                return LoweredInstruction(OpCode.QUE, call) if name in phrases.RESULTLESS else waiting_call(call)
            case Return() if found.elsewhere:
                return free(text, "it returns to a place, or something to somebody: not from the playbook")
            case Return():
                return LoweredInstruction(OpCode.RET, found.said)
        return None

    def _meeting(self, text: str, bare: str) -> LoweredInstruction | None:
        invited = phrase("invite").begins(bare)
        if invited:
            names = self._reach.agents_in(invited["whom"]) or [f'"{invited["whom"]}"']
            return LoweredInstruction(OpCode.QUE, f"InviteToMeeting([{', '.join(names)}])")
        brought = phrase("brings to what is held").begins(bare)
        if brought and held_meeting(brought["where"], self._meetings):
            return free(text, "a meeting is held by a step of its own")
        held = phrase("hold a meeting").begins(bare)
        meeting = held_meeting(held["what"], self._meetings) if held else None
        if held is None or meeting is None:
            return None
        named = named_after_with(held["what"], meeting, self._reach)
        params = {param.name for param in self._reach.params(meeting)}
        if named is None or (params and not params.issuperset(phrases.VARIABLE.findall(bare))):
            return free(text, f"{'who takes part in the meeting' if named is None else 'what it is given'} is unclear")
        whom = ", ".join(named or self._reach.agents_in(bare))
        return waiting_call(f"{meeting}({f'attendees=[{whom}]' if whom else ''}): {text}")

    @staticmethod
    def _note(_text: str, bare: str) -> LoweredInstruction | None:
        note = phrase("note of a playbook").begins(bare)
        number = note["number"].lower().removeprefix("n") if note else ""
        return LoweredInstruction(OpCode.CHK, f"N{number}") if number.isdigit() else None

    def _call(self, text: str, bare: str) -> LoweredInstruction | None:
        if kept := self._kept_result(bare):
            return kept
        readings = settings_of(bare)
        expression, given = text, readings[0] if len(readings) == 1 else None
        if given and phrases.whole_call(call := result_of(given.text)) and not given.operator:
            expression, text = call, (bare := f"{', '.join(given.targets)} = {call}")
        elif (got := phrase("by a call").begins(bare)) and phrases.whole_call(got.rest):
            expression = got.rest
            text = bare = f"{got['target']} = {expression}"
        name = phrases.whole_call(expression.rstrip("."))
        if name is not None and (f"{name}(" in expression or self._reach.knows(name)):  # no "age (in years)"
            return self._calling(name, text.rstrip(".; "))
        said = text.rstrip(".; ")
        if said.startswith("Say(") and said.endswith(")") and said.count("(") == 1:  # a smile: "Say(user, :) Hi)"
            return self._calling("Say", said)
        if called := self._named_calls.in_words(bare):
            return self._calling(name, called) if (name := phrases.whole_call(called)) else waiting_call(called)
        if inside := self._named_calls.by_variable(text, bare) or self._call_inside(text, bare):
            return inside
        return self._set(text, bare, readings)

    def _call_inside(self, text: str, bare: str) -> LoweredInstruction | None:
        """ "Create the account with CreateAccount($email)" is the call; other sentences around one stay free."""
        by = phrase("by calling").begins(bare) if "by" in bare.lower() else None
        if by and self._reach.knows(by["name"]) and not messages.is_indirect(bare.partition(" by ")[0]):
            sure = not by["rest"] and "$" not in bare and self._takes_nothing(by["name"])
            called = f"{by['name']}(): {text.rstrip('. ;')}"
            return waiting_call(called) if sure else free(text, f"what {by['name']} is given is unclear")
        if behind := self._named_calls.behind_its_purpose(bare):
            return waiting_call(behind)
        works = phrase("works by a call").begins(bare)
        if works and (name := phrases.whole_call(works["call"])) and self._reach.knows(name):
            return waiting_call(f"{works['call']}: {text.rstrip('. ;')}")
        if not (self._named_calls.begin(bare) or self._contains_call(text)):
            return None
        return LoweredInstruction(OpCode.EXE, text) if is_exact(text) else free(text, "a call is inside the sentence")

    def _kept_result(self, bare: str) -> LoweredInstruction | None:
        """ "Call Find($q) and store the result in $found": one call with its target."""
        kept = phrase("keeps the result").inside(bare)
        if kept is None or not kept.start() or kept.start() not in outside(bare):
            return None
        found = self._one(bare[: kept.start()].rstrip())
        called = found.known and found.op is OpCode.QUE and found.talk is None and not found.after
        return replace(found, text=f"{kept['target']} = {found.text}") if called and CALL.match(found.text) else None

    def _set(self, text: str, bare: str, readings: Sequence[SetReading]) -> LoweredInstruction | None:
        """A step that sets or changes variables; what is asked for or called with `=` is no value in words."""
        if not readings or (why := doubt_about(readings)):
            return free(text, why) if readings else None
        said, names = phrase("opening").without(readings[0].text).rstrip(". ;"), readings[0].targets
        if readings[0].in_words and (given := self._named_calls.in_words(said, value=True)) and len(names) == 1:
            return waiting_call(f"{names[0]} = {given}")
        if readings[0].in_words and self._named_calls.begin(said, spelled=True):
            return free(text, "what the call is given is unclear")
        worded = readings[0].in_words and bare.startswith("$")
        if worded and (called := self._named_calls.meant(said)):
            return waiting_call(f"{', '.join(names)} = {called}()")
        if (
            worded
            and phrase("ask always").begins(said)
            and self.speech.target(self.speech.addressee(said), said) == "user"
        ):
            waits = (self.speech.wait_for("user", " and ".join(names)),)
            return speaking(TalkLine(("user",), f"{said}, for {' and '.join(names)}", waits))
        return LoweredInstruction(OpCode.EXE, text if worded or settings_of(text) else bare)

    def _contains_call(self, text: str) -> bool:
        """Whether a sentence calls a playbook, rather than only mention the call's result."""
        tells = not phrase("asks or waits").inside(text)
        named = {name for one in (named_in(text) if tells else ()) for name in one.call.called}
        return any(self._reach.knows(name) and name not in named for name in CALLED.findall(text))

    def _calling(self, name: str, text: str) -> LoweredInstruction:
        if name == "EndProgram":
            return speaking(TalkLine(ends="exit"))
        if name.lower() == "say" and text.startswith(name):
            said = said_to_somebody(text, self.speech.target(None, ""))
            return LoweredInstruction(OpCode.QUE, said, spoken=talk_of(said))
        return LoweredInstruction(OpCode.QUE, text if name in phrases.RESULTLESS else f"{text}; YLD for call")

    def _work(self, text: str, bare: str) -> LoweredInstruction | None:
        if phrase("and return").inside(unquoted(bare)) and phrases.beginning(bare, words_of("computes")):
            return LoweredInstruction(OpCode.RET, text)
        return LoweredInstruction(OpCode.EXE, text) if phrase("work").begins(bare) else None


@lru_cache(maxsize=1024)
def _bare(text: str) -> str:
    """A step's sentence without ornaments, "then", "please" and the full stop."""
    return phrase("opening").without(phrases.ORNAMENTS.sub("", text)).rstrip(". ;") or text
