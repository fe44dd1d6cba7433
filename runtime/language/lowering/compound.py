"""Steps with several clauses: each clause becomes an instruction, or the step stays free."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from msgspec import Struct
from msgspec.structs import replace

from runtime.language.instructions.conditions.reading import read_condition
from runtime.language.instructions.decode import work_of
from runtime.language.instructions.model import Leave, Set
from runtime.language.instructions.steps.course import ends_program, goes_to_a_step
from runtime.language.instructions.steps.setting import names_alone, sets_behind, settings_of
from runtime.language.lowering import messages, phrases
from runtime.language.lowering.certainty import BOUND
from runtime.language.lowering.clauses import clauses, joints, open_text, unquoted
from runtime.language.lowering.instruction import LoweredInstruction, LoweredTalk, free, waits_for, with_words
from runtime.language.lowering.occasions import reaction
from runtime.language.lowering.scope import Reach
from runtime.language.lowering.sides import cases, is_exact
from runtime.language.lowering.speech import Speech
from runtime.language.program import OpCode
from runtime.language.vocabulary.phrase import phrase

_LASTS = frozenset({OpCode.RET, OpCode.JMP})
_LONGEST_WAIT = 4
"""The number of words in "YLD for agent Cook"."""
_BEFORE_OR_BEHIND = "whether it is said before the answer is there, or behind it, is unclear"
_SCOPE = "the scope of its condition is unclear"


class _Part(Struct, frozen=True):
    """Clauses that form one instruction."""

    text: str
    found: LoweredInstruction

    @property
    def ends(self) -> bool:
        """Whether nothing can follow it."""
        exits = self.found.ends == "exit" or (self.found.op is OpCode.YLD and self.found.ends != "")
        return self.found.op in _LASTS or exits


class Compound:
    """Splits steps. `classify` classifies a clause."""

    def __init__(
        self, reach: Reach, speech: Speech, classify: Callable[[str], LoweredInstruction], *, meeting: bool
    ) -> None:
        self._reach = reach
        self._speech = speech
        self._classify = classify
        self._meeting = meeting

    def in_parts(self, text: str, bare: str) -> LoweredInstruction | None:
        """The instructions of a step with several clauses, or a free one; None for a single clause."""
        if cased := cases(text, bare, self._classify):
            return cased
        parts = clauses(text)
        if self._meeting and (lasting := phrase("while it lasts").inside(parts[0])):
            head = f"While the meeting is {lasting['how']}"
            first = f"{parts[0][: lasting.start()].rstrip()}{parts[0][lasting.end() :]}"
            rest = [first.replace(", YLD for meeting", "").replace("YLD for meeting", "").strip(" ,;"), *parts[1:]]
            kept = [part for part in rest if part.rstrip(" .;") not in ("", "YLD for meeting")]
            if kept and phrase("take part").begins(kept[0]):
                return LoweredInstruction(OpCode.CND, head, "; ".join(kept), loop=True)
        if len(parts) < 2 or phrase("if so").begins(bare):
            return None
        if phrases.begins_control(bare):
            more = [phrase("opening").without(part) for part in parts[1:]]
            again = any(map(phrases.begins_control, more))
            belongs = (phrase("how").begins(part) or phrase("keeps the answer").is_all_of(part) for part in more)
            sure = all(belongs) or (";" in unquoted(text) and not again)
            return None if sure else free(text, _SCOPE, whole=True)
        return self._sequence(text, parts)

    def checked(self, found: LoweredInstruction, text: str, bare: str) -> LoweredInstruction:
        """The instruction of a step with one clause, unless it contains another action: "… and set $x to 3"."""
        if not found.known:
            return self._behind(found, text) or self._call_and_more(text) or found
        if found.op in (OpCode.CND, OpCode.JMP, OpCode.CHK):
            return found
        if conditional := self._behind(found, text) or self._lasting(found, text):
            return conditional
        if found.op is OpCode.EXE:
            return self._besides_a_value(text) or found
        if text.startswith("$") or phrases.whole_call(text) or phrase("keeps the result").inside(text):
            return found
        if phrase("bounded").inside(messages.QUOTATION.sub(" ", text)) and (found.talk is None or found.talk.asks):
            return free(text, BOUND)
        for head, tail in joints(text):
            if phrase("branch").begins(tail):
                return self._with_a_condition(found, text, head, tail) or found
            if apart := self._taken_apart(found, text, head, tail):
                return apart
        return found

    def _with_a_condition(
        self, found: LoweredInstruction, text: str, head: str, tail: str
    ) -> LoweredInstruction | None:
        """ "Ask if they need more, and if they do, go to step 1": what stands behind a condition depends on it."""
        body = self._classify(second.body) if (second := self._classify(tail)).known and second.body else None
        told = found.talk is not None and not found.talk.asks and messages.is_indirect(head)
        if body is not None and body.known and not told:
            return self._sequence(text, [head, tail])
        behind = (cut for cut in joints(text) if len(cut[0]) > len(head))
        does = [tail[cut.end() :] for cut in phrases.CLAUSE_START.finditer(tail)]
        acts = any(part and not (phrase("indirect").begins(part) or part.startswith("for ")) for part in does)
        acts = acts and not (tail.lower().startswith("when ") or told)
        more = found.talk is None or acts
        more = more or any(self._taken_apart(found, text, *cut) for cut in behind)
        return free(text, "the scope of its condition is unclear") if more else None

    def _besides_a_value(self, text: str) -> LoweredInstruction | None:
        """ "Compute $total and tell the user": the second action is no part of the value."""
        for head, tail in joints(text):
            first = phrase("opening").without(head)
            changed = work_of(self._classify(first).text)[0]
            sets = isinstance(work_of(first)[0], Set) or (isinstance(changed, Set) and changed.operator != "")
            if names_alone(first) or not sets:
                continue
            if phrase("branch").begins(tail):
                return self._with_a_condition(LoweredInstruction(OpCode.EXE, head), text, head, tail)
            bare = phrase("opening").without(tail).rstrip(". ;")
            verb = verb if sets_behind(verb := first.partition(" ")[0].lower(), bare) else "set"
            again = bare.startswith("$") and not settings_of(bare) and sets_behind(verb, bare)
            second = self._classify(f"{verb} {bare}" if again else tail)
            ends = second.op in (OpCode.RET, OpCode.JMP, OpCode.YLD) or isinstance(work_of(bare)[0], Leave)
            ends = ends or bool(settings_of(bare))
            if second.known and (again or ends or (second.op is OpCode.QUE and self._speaks(second, bare))):
                return self._sequence(text, [head, f"{verb} {bare}" if again else tail])
        return None

    @staticmethod
    def _speaks(second: LoweredInstruction, bare: str) -> bool:
        """Whether a clause is certainly a call, a message or a question."""
        return second.talk is None or bool(phrase("tell").begins(bare) or phrase("ask always").begins(bare))

    def _call_and_more(self, text: str) -> LoweredInstruction | None:
        """ "Get order status and tell the user", "Wait for Cook and go on": a call or a wait, and a second action."""
        for head, tail in joints(text):
            called = self._classify(head)
            is_call = _is_call(called)
            waits = called.known and called.op is OpCode.YLD and not called.after
            second = self._classify(tail) if is_call or waits else None
            exact = second is not None and (is_call or second.op is not OpCode.EXE or is_exact(tail))
            then = text[len(head) : len(text) - len(tail)].strip(" ,")
            if waits and second and not then and phrase("wait alone").begins(head):
                return free(text, "for whom it waits, or how long, is not said")
            if is_call and then == "and" and settings_of(head) and phrases.whole_call(tail.rstrip(" .")):
                return free(text, "whether both calls make its value is unclear")
            if second and exact and (second.known or phrase("wait for the call").begins(tail)):
                return self._sequence(text, [head, tail])
            speaks = called.talk is not None and called.known and not messages.is_indirect(head)
            if speaks and not phrase("names a value").begins(tail) and _is_call(self._classify(tail)):
                return self._sequence(text, [head, tail])
        return None

    def _sequence(self, text: str, parts: Sequence[str]) -> LoweredInstruction:
        groups: list[_Part] = []
        following = self._speech.answered_next
        for part, later in zip(parts, (*parts[1:], ""), strict=True):
            self._speech.answered_next = reaction(later) if later else following
            found = self._classify(part)
            mark = ";" if text[: text.find(part)].rstrip().endswith(";") else "."
            joined = self._joined(groups[-1], part, found, mark) if groups else None
            if joined is not None:
                part, found = f"{groups.pop().text}{mark} {part}", joined
            groups.append(_Part(part, found))
        if unknown := next((group for group in groups if not group.found.known), None):
            why = unknown.found.reason if len(groups) == 1 else f"{unknown.text!r}: {unknown.found.reason}"
            return free(text, why)
        first = groups[0].found
        if len(groups) == 1:
            return first
        if any(group.ends for group in groups[:-1]) or first.op is OpCode.CND or _else_unclear(groups):
            return free(text, "the parts that belong together are unclear", whole=True)
        return replace(first, after=(*first.after, *(group.text for group in groups[1:])))

    def _joined(self, before: _Part, part: str, found: LoweredInstruction, mark: str) -> LoweredInstruction | None:
        """Two clauses as one instruction; None if the second is one of its own."""
        talk = before.found.talk
        whole_call = before.found.op is OpCode.QUE and talk is None
        call = before.found.text.removesuffix("; YLD for call")
        if whole_call and (kept := phrase("keeps the result").begins(part)):
            again = self._classify(f"{before.text.rstrip('. ;')} and {part}")
            if not again.known:
                return free(part, "what is kept is unclear")
            if again.text.startswith(kept["target"]):
                return again
        if whole_call and phrase("wait for the call").begins(part):
            waits = f"{call}{'' if ': ' in call else ':'} {part.rstrip('.;')}; YLD for call"
            return replace(before.found, text=waits, spoken=None)
        if whole_call and phrase("wait alone").begins(part):
            return free(part, "it does not say for whom, behind a call")
        if found.op is OpCode.YLD and whole_call and not before.found.after:
            said, then = before.found.spoken, found.spoken
            spoken = replace(said, waits=then.waits, ends=then.ends) if said and then else None
            return replace(before.found, text=f"{call}; YLD {found.text}", spoken=spoken)
        over = before.found.text.startswith(("EndMeeting(", "LeaveMeeting("))
        if over and found.talk is not None and phrase("everybody").inside(part):
            return free(part, "nobody hears it when the meeting is over")
        if talk is not None and not before.ends:
            return self._more_said(before, talk, part, found, mark)
        modifies = phrase("how").begins(part) is not None
        asks_itself = before.found.op is OpCode.TNK and part.rstrip().endswith("?")
        same = before.found.op is found.op and found.op in (OpCode.TNK, OpCode.EXE) and not found.after
        same = same and not (phrases.does_one_thing(part) or is_exact(part))
        if before.found.op in (OpCode.TNK, OpCode.EXE) and (asks_itself or same or (modifies and not found.known)):
            known = before.found.known and (found.known or modifies)
            text = f"{before.found.text}{'' if before.found.text.endswith(('?', '!')) else mark} {part}"
            return replace(before.found, text=text, known=known)
        return None

    def _more_said(
        self, before: _Part, talk: LoweredTalk, part: str, found: LoweredInstruction, mark: str
    ) -> LoweredInstruction | None:
        """Further words for the same people, or the wait for their answer."""
        if talk.asks and phrase("repeats").inside(unquoted(part)) and phrase("asks again").begins(part):
            return free(part, "how often it is asked is part of the sentence")
        if talk.asks and "$" in talk.said and phrase("may be left out").inside(part):
            return free(part, messages.OPTIONAL)
        mark = "" if talk.said.endswith("?") else mark
        if talk.asks and talk.target == "user" and phrase("a truth by the answer").is_all_of(part):
            return self._speech.spoken(with_words(talk, f", and {part}", asks=True))
        quoted = _BEFORE_OR_BEHIND if phrase("says only quoted").begins(bare := phrase("opening").without(part)) else ""
        why = (quoted or self._speech.questions.why_not_kept(talk.said, bare)) if talk.asks else None
        if why is not None:
            return free(part, why) if why else self._speech.spoken(with_words(talk, f"{mark} {part}", asks=True))
        if waits_for(found, talk.target):
            coded = part.startswith("YLD for ") and len(part.split()) <= _LONGEST_WAIT
            worded = not (coded or part.lower().removeprefix("please ").startswith("wait"))
            return self._speech.spoken(with_words(talk, f"{mark} {part}" if worded else "", asks=True))
        if talk.asks and found.known and phrase("replies").begins(bare):
            return None
        second = None if found.after or found.ends == "exit" else found.talk
        same = second is not None and second.target == talk.target
        same = same and not (phrase("lasts").inside(talk.said) and part.lower().startswith("then "))
        a_call = found.op is OpCode.QUE and found.talk is None
        listed = ":" in unquoted(before.text) and not found.known
        if same or listed or (phrase("how").begins(part) and not a_call and found.op is not OpCode.CND):
            return self._speech.spoken(with_words(talk, f"{mark} {part}", asks=bool(same and second and second.asks)))
        return None

    def _behind(self, found: LoweredInstruction, text: str) -> LoweredInstruction | None:
        """A condition after its action: "End program if $done"."""
        cuts = list(phrase("condition behind").all_inside(unquoted(text)))
        if not cuts or (found.known and found.op is OpCode.EXE and not phrases.does_one_thing(text)):
            return None
        cut = cuts[-1]
        head = text[: cut.start()].rstrip().removesuffix(" only")
        condition = text[cut.end() :].lstrip().rstrip(" .;:")
        if phrases.other_sides(open_text(condition)):
            both = free(text, "both sides of a condition are in one sentence")
            return None if found.op in (OpCode.RET, OpCode.EXE) else both
        if cut["word"].lower() == "if" and (self._means_whether(head) or phrase("how, behind").inside(head)):
            return None
        first, several, unclear = self._classify(head), any(joints(head)), free(text, _SCOPE)
        if phrase("if they remember").is_all_of(condition) and "$" in head:
            return free(text, messages.OPTIONAL)
        if not condition or not first.known:
            return unclear if condition and found.known else None
        told = messages.is_indirect(head) or phrase("states").inside(unquoted(head))
        part_of_it = first.talk is not None and told and read_condition(condition) is None
        if several or part_of_it:
            one = not cuts[1:] or messages.is_indirect(text[: cuts[0].start()])
            belongs = found.talk is not None and one and phrase("said before").begins(condition)
            return None if belongs and not (cut["word"].lower() == "unless" and head.endswith(",")) else unclear
        if "," in unquoted(condition):
            return unclear
        return LoweredInstruction(OpCode.CND, f"{cut['word'].capitalize()} {condition}", head.rstrip(" ,"))

    def _means_whether(self, head: str) -> bool:
        """Whether only the person stands between the verb and an "if": "Ask the user if …"."""
        if phrase("before a clause").inside(head):
            return True
        words = phrase("opening").without([head, *(tail for _, tail in joints(head))][-1])
        if phrase("asks somebody").begins(words) or words.lower().removeprefix("ask ") in phrases.ROLES:
            return True
        if not phrase("says whether").begins(words):
            return False
        rest = self._reach.names.left_out_of(phrase("says whether").without(words))
        rest = phrase("everybody").left_out_of(phrase("people").left_out_of(rest))
        return phrase("nothing but manner").begins(rest.strip()) is not None

    def _lasting(self, found: LoweredInstruction, text: str) -> LoweredInstruction | None:
        """A talk that a person ends, or a message repeated until something is true: "Tell jokes until they laugh"."""
        if found.talk is None or found.talk.asks:
            return None
        head, lasts, test = text.rpartition(" while ")
        if lasts and not messages.is_indirect(head) and read_condition(test.rstrip(" .")) is not None:
            return free(text, "how long it continues is part of the sentence")
        cut = phrase("lasts").inside(unquoted(text))
        if cut is None or messages.is_indirect(text[: cut.start()]):
            return None
        if found.talk.target == "user" and phrase("people").inside(text[cut.end() :]):
            return self._speech.spoken(replace(found.talk, asks=True))
        return free(text, "how long it continues is part of the sentence")

    def _taken_apart(self, found: LoweredInstruction, text: str, head: str, tail: str) -> LoweredInstruction | None:
        """The two halves of a sentence, if the second is another action; else None."""
        bare = phrase("opening").without(tail).rstrip(". ;")
        if found.op is OpCode.RET:
            return self._besides_a_return(text, bare)
        if ends_program(bare) and messages.has_the_end(head, text[len(head) :]):
            return None
        indirect = messages.is_indirect(head)
        handed = phrase("hands on").begins(bare) and not messages.may_go_on(head) and phrase("ask always").begins(head)
        if handed and self._for_another(self._classify(head), bare):
            return self._sequence(text, [head, tail])
        if after := self._after_the_answer(found, text, head, tail):
            return after
        if indirect and found.op is OpCode.TNK and (phrase("tell").begins(bare) or phrase("ask always").begins(bare)):
            apart = text[len(head) :].lstrip().startswith(",")
            inside = free(text, f"{tail!r} may be part of what is thought")
            return self._sequence(text, [head, tail]) if apart else inside
        changes = phrase("acts").begins(bare) and is_exact(bare) and not phrase("goes on").inside(unquoted(head))
        if indirect and not changes and not phrase("code").begins(bare) and not goes_to_a_step(bare):
            sets = any(one.text != bare for one in settings_of(bare)) or is_exact(tail)
            besides = self._for_another(found, bare) or (found.talk is not None and sets)
            return free(text, f"{tail!r} may be part of what is said") if besides else None
        second = self._classify(tail)
        other = phrase("acts").begins(bare) or is_exact(bare) or (not second.known and self._for_another(found, bare))
        if other and not self._reach.meant(bare):
            sure = not indirect or changes or phrase("says only quoted").begins(phrase("opening").without(head))
            exact = second.known and sure and (second.op is not OpCode.EXE or is_exact(tail))
            return self._sequence(text, [head, tail]) if exact else free(text, f"{tail!r} is something else to be done")
        if not second.known or not self._is_another(found, second, bare):
            return None
        return self._sequence(text, [head, tail])

    def _after_the_answer(
        self, found: LoweredInstruction, text: str, head: str, tail: str
    ) -> LoweredInstruction | None:
        """A question, and what is said when its answer is there: "Ask for it, then tell them …"."""
        bare = phrase("opening").without(tail).rstrip(". ;")
        if phrase("goes on, perhaps").begins(bare):
            return free(text, "the scope of its condition is unclear")
        asked = self._classify(head).talk if found.talk is not None and found.talk.asks else None
        then = phrase("beside its question").inside(head) or "then" in text[len(head) : len(text) - len(tail)].lower()
        tells = (phrase("tells or waits") if then else phrase("replies")).begins(bare)
        if asked and asked.asks and not then and phrase("says only quoted").begins(bare):
            return free(text, _BEFORE_OR_BEHIND)
        if asked is None or not asked.asks or (messages.is_indirect(head) and not (then and tells)):
            return None
        second = self._classify(tail)
        if then and tells and not second.known:
            return free(text, f"{tail!r}: {second.reason}")
        told = second.known and (second.op is OpCode.QUE if second.talk is None else not second.talk.asks)
        return replace(self._speech.spoken(asked), after=(tail,)) if told and (then or tells) else None

    def _for_another(self, found: LoweredInstruction, bare: str) -> bool:
        """Whether a clause behind a message to people speaks to an agent: "Say that it is late, and notify Boss"."""
        speaks = any(phrase(one).begins(bare) for one in ("tell", "ask always", "hands on", "offers", "lets do"))
        if found.talk is None or not speaks:
            return False
        return self._speech.addressee(bare) not in (None, "meeting", found.talk.target, *found.talk.others)

    def _besides_a_return(self, text: str, bare: str) -> LoweredInstruction | None:
        """ "Return $x and end the program": nothing runs after a return."""
        second = self._classify(bare)
        speaks = second.talk is not None and (phrase("tell").begins(bare) or phrase("ask always").begins(bare))
        if second.op is OpCode.RET and not second.text:
            return self._classify(next(head for head, tail in joints(text) if tail.rstrip(" .;").endswith(bare)))
        acts = second.op in (OpCode.YLD, OpCode.JMP) or (second.op is OpCode.QUE and second.talk is None)
        return free(text, f"{bare!r} comes after a return") if second.known and (speaks or acts) else None

    def _is_another(self, found: LoweredInstruction, second: LoweredInstruction, bare: str) -> bool:
        """Whether the second half of a sentence is an instruction of its own."""
        if second.op is OpCode.YLD and second.ends == "exit":
            return found.talk is None or found.talk.asks
        if second.op is OpCode.RET:
            return found.talk is None or second.text != ""
        if second.op is OpCode.JMP or (second.op is OpCode.QUE and second.talk is None):
            return True
        if second.talk is None:
            return False
        explicit = self._speech.addressee(bare) is not None and not phrase("whose").begins(bare)
        if found.talk is None:
            return phrase("tell").begins(bare) is not None or phrase("ask always").begins(bare) is not None
        return explicit and second.talk.target not in (found.talk.target, *found.talk.others)


def _is_call(found: LoweredInstruction) -> bool:
    return found.known and found.op is OpCode.QUE and found.talk is None and not found.after


def _else_unclear(groups: Sequence[_Part]) -> bool:
    """Whether an "otherwise" follows a step that is no condition, or several conditions that are no "otherwise if"."""
    for before, other, group in zip([None, None, *groups], [None, *groups], groups, strict=False):
        if not phrase("else").begins(group.text):
            continue
        if other is None or other.found.op is not OpCode.CND:
            return True
        side = phrase("else").begins(other.text)
        if before and before.found.op is OpCode.CND and not (side and phrase("branch").begins(side.rest)):
            return True
    return False
