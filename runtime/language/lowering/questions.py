"""What the questions of a playbook ask for, and what is known of the values that they and calls have given."""

from __future__ import annotations

import ast
import re
from collections.abc import Collection, Sequence
from itertools import islice

from runtime.language.instructions.conditions.reading import plain_marks, read_condition
from runtime.language.instructions.conditions.tokens import leading_tokens
from runtime.language.instructions.model import Ask, Call, Free, Instruction, Set
from runtime.language.instructions.steps.setting import settings_of
from runtime.language.instructions.uses import sets, sets_lists, sets_numbers
from runtime.language.instructions.values import read_value
from runtime.language.lowering import messages, phrases
from runtime.language.lowering.clauses import open_text, unquoted
from runtime.language.lowering.instruction import LoweredInstruction, LoweredTalk, free, meaning_of
from runtime.language.lowering.scope import Reach
from runtime.language.program import OpCode, Step
from runtime.language.value_types import variable_name
from runtime.language.vocabulary.phrase import PhraseMatch, phrase, words_of

_ORDINALS = ("last", "first", "second", "third", "fourth", "fifth")


class AskedVariables:
    """The questions of one playbook, up to the step that is read; `meeting` when they are part of a meeting."""

    def __init__(self, *, meeting: bool) -> None:
        self._meeting = meeting
        self._asked_last: list[str] = []
        self._asked: set[str] = set()
        """The variables of the last question, and of all questions."""
        self._sure_last = False
        """Whether the last question is one that is surely asked; there was one, then."""
        self.about: list[str] = []
        """The variables of the condition that a step stands under."""
        self.given: set[str] = set()
        """The variables that have a value at this step."""
        self.lists: set[str] = set()
        """Those of them that are lists."""
        self.numbers: set[str] = set()
        """Those of them that are numbers."""
        self.worded: set[str] = set()
        """Those of them whose value may be the words of a question: parameters, and what a loop goes through."""

    def in_full(self, talk: LoweredTalk) -> tuple[str, Sequence[str]]:
        """The words of a message, and the variables that it asks for without naming them: "ask again"."""
        plain = unquoted(talk.said)
        if not talk.asks or talk.target != "user" or phrases.VARIABLE.search(talk.said):
            return talk.said, ()
        if noun := messages.asked_anew(plain, self._asked):
            name = noun["noun"].lower().replace(" ", "_")
            return f"{talk.said[: noun.end()]} (${name}){talk.said[noun.end() :]}", [name]
        about = [*dict.fromkeys(self.about)]
        if about and (it := phrase("asks for it").inside(plain)):
            return f"{talk.said[: talk.said.rindex(it['it'])]}{_joined(about)}", about
        named = [name for name in about if name in self._asked]
        other = phrase("asks for another").inside(plain) or phrase("asks the same again").inside(plain)
        if len(named) == 1 and other:
            return f"{talk.said[: other.end()]} (${named[0]}){talk.said[other.end() :]}", named
        again = phrase("asks again").inside(plain) or phrase("asks to do again").inside(plain)
        names = named or self._asked_last
        if again is None or not names:
            return talk.said, ()
        return f"{talk.said[: again.end()]} for {_joined(names)}{talk.said[again.end() :]}", names

    def may_ask_again(self, bare: str) -> str:
        """Why "ask them to try again" may ask for a value, or not; "" where it is clear."""
        plain = unquoted(bare)
        if added := self._perhaps_added(bare):
            return added
        if len({*self.about}) > 1 and (it := phrase("asks for it").inside(plain)) and it["it"].lower() == "it":
            return f"it may ask for {_joined([*dict.fromkeys(self.about)])}, or for one of them"
        again = phrase("asks again").inside(plain)
        if again and again.start() and self.about and not phrase("for a variable").begins(bare[again.end() :].lstrip()):
            return "whether the answer is tested again is not said"
        somebody = again and phrase("people").inside(again.whole)
        named = phrases.VARIABLE.search(bare) or self._asked & {*self.about}
        if again and not (self._meeting or self._sure_last or somebody or named):
            return "what is asked again is not said"
        about = self._asked & {*self.about}
        other = any(one.inside(plain) for one in (phrase("asks for another"), phrase("asks the same again")))
        if self.about and len(about) != 1 and other and not phrases.VARIABLE.search(bare):
            return "which value it asks for is unclear"
        if self._asked and phrase("asks for the missing").inside(plain) and not phrases.VARIABLE.search(bare):
            return "which value it asks for is unclear"
        if phrase("asks somebody again").inside(plain) and not phrase("asks again").inside(plain):
            return "what is asked again is not said"
        again = phrase("asks to do again").inside(plain)
        if self._meeting or again is None or not self._asked or phrases.VARIABLE.search(bare):
            return ""
        if about and about >= {*self._asked_last}:
            return ""
        return f"it may ask for {_joined(self._asked_last or sorted(self._asked))} again"

    def _perhaps_added(self, bare: str) -> str:
        """Why an answer may be added to a list, or be the value of another variable; "" where it is sure."""
        kept = phrase("answer kept").inside(bare)
        if kept is None:
            either = phrase("one or the other").inside(unquoted(bare)) and len(self.wanted(bare)) > 1
            return "it may ask for one of them, or for both" if either else ""
        if kept["name"] in self.lists and not kept["type"]:
            return f"it may replace the list ${kept['name']} or add to it"
        asked = {match["name"] for match in phrase("asked for").all_inside(bare[: kept.start()])} - self.given
        return f"whether ${min(asked)} gets the answer, too, is unclear" if asked else ""

    def adding(self, text: str, bare: str) -> LoweredInstruction | None:
        """A list that "Put $ticket in $urgent" changes, a number ("Add 5 euros to $n"), or a new "short $note"."""
        changes = phrase("changes a list").begins(bare) if self.lists else None
        if changes and changes["target"].removeprefix("$") in self.lists and (done := self._changed(changes)):
            return LoweredInstruction(OpCode.EXE, done)
        counted = phrase("changes a number").begins(bare) if self.numbers else None
        sure = counted and counted["target"][1:] in self.numbers and not settings_of(bare)
        if counted and sure and read_value(counted["what"]) is not None:
            sign = "-" if counted["less"] else "+"
            return LoweredInstruction(OpCode.EXE, f"{counted['target']} {sign}= {counted['what']}")
        new = None if phrase("returns something").inside(bare) else phrase("makes a new one").begins(bare)
        if new and new["target"].removeprefix("$") not in self.given:
            return LoweredInstruction(OpCode.EXE, f"{new['target']} = {bare}")
        found = phrase("puts into").begins(bare)
        if found is None or read_value(found["what"]) is None:
            return None
        name = found["target"].removeprefix("$")
        grows = name in self.lists or (found["where"].lower() == "on" and "list" in name.lower().split("_"))
        return LoweredInstruction(OpCode.EXE, f"Add {found['what']} to {found['target']}") if grows else None

    def _changed(self, changes: PhraseMatch) -> str:
        """What changes a list, in symbols; "" where that is not one thing."""
        target, part = changes["target"], phrase("a part of a list").begins(changes["gone"] or "")
        value = changes["gone"] or changes["new"] or changes["value"]
        if part and part["at"]:
            return f"{target} = {target}[{'1:' if part['at'].lower() == 'first' else ':-1'}]"
        if not value or (part and part["all"]):
            return f"{target} = {target}[::-1]" if changes["reversed"] else f"{target} = []"
        value = value.removeprefix("the ")
        one = read_value(f"[{value}]") and read_value(value)
        if one is None or isinstance(one.tree, ast.BoolOp | ast.List | ast.Tuple) or value[1:] in self.lists:
            return ""
        if changes["gone"] and value.isdecimal():  # "Remove 2 from $queue" may say how many
            return ""
        if changes["at"]:
            return f"{target}[{_ORDINALS.index(changes['at'].lower()) - 1}] = {value}"
        return f"{target} -= {value}" if changes["gone"] else f"{target} = [{value}] + {target}"

    def why_not_kept(self, said: str, part: str) -> str | None:
        """Why "Set $a" behind a question may not say whose answer it is; "" where it does, None for other sentences."""
        kept = phrase("keeps the answer").is_all_of(part)
        known = kept is not None and kept["alone"] and self.given.issuperset(phrases.VARIABLE.findall(part))
        if kept is None or known or self.wanted(said):
            return None
        return self._perhaps_added(f"{said}; {part}")

    def whether_known(self, condition: str) -> str:
        """Why a condition may be about what a value names: "If $plate isn't known", behind a question for $plate."""
        found = phrase("is known").inside(condition)
        asked = found is not None and found["name"] in self._asked and "None" not in found.whole
        return "it may be about what the value names" if asked else ""

    def wanted(self, said: str) -> list[str]:
        """What a question asks for. What has a value is often only its subject: "Ask whether $total is right"."""
        typed = {match[1] for match in phrases.VARIABLE.finditer(said) if ":" in match[0]}
        about = {
            name
            for match in phrase("talked about").all_inside(said)
            for name in phrases.VARIABLE.findall(match.whole)
            if (
                name in self.given
                and not (name in typed and match.whole.lower().startswith(("of ", "about ", "them ")))
            )
            or phrase("state of a variable").inside(match.whole)
        }
        asked_for = {match["name"] for match in phrase("asked for").all_inside(said)}
        said = messages.QUOTATION.sub(lambda quoted: messages.PLACEHOLDER.sub(" ", quoted[0]), said)
        about |= {
            name for one in messages.PLACEHOLDER.findall(said) for name in phrases.VARIABLE.findall(one)
        } & self.given
        apart = phrases.VARIABLE.findall(messages.QUOTATION.sub(" ", said))
        names = dict.fromkeys(apart or phrases.VARIABLE.findall(said))
        before = said if typed else said.rpartition(" set $")[0]
        beside = {match["name"] for match in phrase("beside what is given").all_inside(said)}
        about |= ({*phrases.VARIABLE.findall(before), *beside} & self.given) - typed
        about |= self.given & {match["name"] for match in phrase("subject of a question").all_inside(said)} - typed
        about |= self.worded & {match["name"] for match in phrase("is asked").all_inside(said)}
        about -= {match["name"] for match in phrase("set by the answer").all_inside(said)}
        about -= {match[1] for match in _TYPED_APART.finditer(said)}
        sure = typed | asked_for | self._beside_new(said)
        if any(name not in self.given for name in names) or phrase("asks to do").begins(said):
            about |= self.given - sure
        return [name for name in names if name in asked_for or name not in about]

    def _beside_new(self, said: str) -> set[str]:
        """The variables that a question lists beside one without a value."""
        pairs = ((found["name"], found["other"]) for found in phrase("beside a new one").all_inside(said))
        return {name for pair in pairs for name in pair if not self.given.issuperset(pair)}

    def thinking(self, text: str, bare: str) -> LoweredInstruction | None:
        """A thought; a free step for a note of what nobody has said: "Note the $plate". None for any other step."""
        if not (phrase("think").begins(bare) or phrase("checks a value").is_all_of(bare)):
            return None
        if made := phrase("value at its end").is_all_of(bare):
            return LoweredInstruction(OpCode.EXE, f"{made['target']} = {made['work']}")
        new = {*phrases.VARIABLE.findall(bare)} - self.given
        if new and phrases.beginning(bare, words_of("notes")):
            return free(text, f"it does not say who gives ${min(new)}")
        plain = unquoted(bare)
        kept = {one["target"].removeprefix("$") for one in phrase("goes to a variable").all_inside(plain)} & new
        kept |= {one[1] for one in phrases.VARIABLE.finditer(plain) if ":" in one[0]}
        return free(text, f"it sets ${min(kept)}, too") if kept else LoweredInstruction(OpCode.TNK, text)

    def note(self, found: LoweredInstruction, meant: Instruction) -> None:
        """Note a step and what it does: its question may be asked again, and what a free step names has a value."""
        for part in meant.parts:
            if isinstance(part, Ask) and part.sources == ("user",) and (part.wants or part.until is None):
                self._asked_last, self._sure_last = [want.name for want in part.wants], True
        self._sure_last = self._sure_last and (found.known or phrase("question begins").inside(found.text) is None)
        self._asked |= set(self._asked_last)
        made, work = sets(meant), not found.known or any(isinstance(part, Free) for part in meant.parts)
        self.given |= {*phrases.VARIABLE.findall(found.text)} if work else made
        self.worded |= made if found.loop else set()
        self.lists |= sets_lists(meant)
        if not any(isinstance(part, Set) and part.operator for part in meant.parts):
            self.numbers = (self.numbers - made) | sets_numbers(meant)


def _joined(names: Sequence[str]) -> str:
    return " and ".join(f"${name}" for name in names)


_FOUND = {"missing": phrase("nothing was found"), "given": phrase("something was found")}
_OF_A_LIST = {"missing": "empty", "given": "not empty"}
_TYPED_APART = re.compile(r"[(,;:>]\s*\$(\w+):(?=\w)")
"""A variable for the answer, apart from the words of a question: `if it is finished ($finished:bool)`."""
_BEFORE_A_NOUN = frozenset({"the", "their", "his", "her", "its", "and", "or"})
_ANSWERS = frozenset({"yes", "no", "none", "nothing", "so"})
"""Words that mean a value, or an answer in words."""
_OF_THE_THING = frozenset({"positive", "negative", "shorter", "longer", "taller", "older", "younger", "years"})
_OF_SEVERAL = frozenset({"are", "were", "have", "do", "did", "exceed", "reach"})
_MOST_CLAUSES = 4


_IT = frozenset({"", "it", "that", "anything", "something", "one"})


def about_what_was_found(text: str, before: Step | None, reach: Reach) -> str:
    """The condition *there is no such order* behind a call as `$order is missing`; any other text as it is."""
    branch = phrase("branch at start").begins(text)
    if before is None or branch is None:
        return text
    for state, found in _FOUND.items():
        said = found.begins(branch.rest)
        name, several = _result(before, reach) if said else ("", False)
        if said and name and (said["such"] or _names(name, said["what"])):
            is_so = _OF_A_LIST[state] if several else state
            return f"{text[: branch.end()]} ${name} is {is_so}{branch.rest[said.end() :]}"
    return text


def without_what_was_found(text: str) -> str:
    """A sentence without such a condition, whose words `$order is missing` replaces."""
    branch = phrase("branch at start").begins(text)
    said = next(filter(None, (found.begins(branch.rest) for found in _FOUND.values())), None) if branch else None
    return said.rest if said else text


def about_values(text: str, known: AskedVariables) -> str:
    """A condition about *the price* with `$price` for it, where that surely has a value to compare; else as it is."""
    start = phrase("test at start").begins(text)
    if start is None or not known.given:
        return text
    cuts = islice(phrases.CLAUSE_START.finditer(open_text(text)), _MOST_CLAUSES)
    for end in (*(cut.start() for cut in cuts), len(text)):
        said = text[start.end() : end]
        named = _with_signs(said, known.given)
        test = read_condition(named.rstrip(" .:")) if named != said else None
        if test and not read_condition(said.rstrip(" .:")):
            words = {token.text for token in leading_tokens(plain_marks(named))}
            ordered = known.numbers if words.isdisjoint(_OF_SEVERAL | _OF_THE_THING) else frozenset[str]()
            return f"{text[: start.end()]}{named}{text[end:]}" if _compares(test.tree, ordered, known.lists) else text
    return text


def _compares(test: ast.expr, numbers: Collection[str], lists: Collection[str]) -> bool:
    """Whether a test asks only whether values are equal, are in a list, or are in an order as numbers."""
    match test:
        case ast.BoolOp(values=parts):
            return all(_compares(part, numbers, lists) for part in parts)
        case ast.Compare(left=left, ops=[ast.In() | ast.NotIn()], comparators=[ast.Name(id=name)]):
            return _is_bare(left) and variable_name(name) in lists
        case ast.Compare(left=left, ops=ops, comparators=others):
            names = (variable_name(one.id) for one in (left, *others) if isinstance(one, ast.Name))
            equal = all(isinstance(op, ast.Eq | ast.NotEq | ast.In | ast.NotIn) for op in ops)
            return all(map(_is_bare, (left, *others))) and (equal or all(name in numbers for name in names))
    return False


def _is_bare(value: ast.expr) -> bool:
    """Whether a value is a variable, a number, a text, or a list of such values."""
    match value:
        case ast.Constant(value=plain):
            return isinstance(plain, int | float | str) and not isinstance(plain, bool)
        case ast.List(elts=parts):
            return all(map(_is_bare, parts))
        case ast.UnaryOp(op=ast.USub(), operand=one):
            return _is_bare(one)
    return isinstance(value, ast.Name)


def _with_signs(said: str, given: Collection[str]) -> str:
    """A condition with `$` before each noun that is the name of a variable with a value."""
    tokens = leading_tokens(plain_marks(said))
    words = [token.text if token.kind == "WORD" else "" for token in tokens]
    if not _ANSWERS.isdisjoint(words):
        return said
    for at in reversed(range(len(tokens))):
        alone = at == 0 or words[at - 1] in _BEFORE_A_NOUN
        for count in (3, 2, 1) if alone and words[at] else ():
            name = "_".join(words[at : at + count])
            if name in given and name.isidentifier() and at + count <= len(tokens):
                said = f"{said[: tokens[at].at]}${name}{said[tokens[at + count - 1].end :]}"
                break
    return said


def _result(before: Step, reach: Reach) -> tuple[str, bool]:
    """The variable of a call just before, if its value tells whether something was found; and whether it is a list."""
    made = meaning_of(before).head
    if before.children or not isinstance(made, Call) or made.result is None or made.result.path:
        return "", False
    agent, _, name = made.name.rpartition(".")
    playbook = reach.playbook(agent, name)
    returns = (playbook.returns or "").lower() if playbook else ""
    kinds = {kind.strip().partition("[")[0] for kind in returns.split("|")}
    return (made.result.name if kinds & (_LISTS | _NOTHING) else ""), bool(kinds & _LISTS)


_LISTS = frozenset({"list", "tuple", "set"})
_NOTHING = frozenset({"none", "optional"})
"""Types whose value is empty only where nothing was found: an empty list and None, but no empty text."""


def _names(variable: str, noun: str) -> bool:
    """Whether a noun is what a variable holds: `order` or `orders` for `$order` and `$found_order`."""
    words, own = noun.lower().removeprefix("the ").rstrip("s"), variable.lower().replace("_", " ").rstrip("s")
    return words in _IT or own == words or own.endswith(f" {words}")
