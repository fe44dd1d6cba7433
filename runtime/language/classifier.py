"""What a step means: the rules, in the order in which they are tried."""

from __future__ import annotations

import re
from itertools import islice

from runtime.language import phrases
from runtime.language.instruction import Instruction
from runtime.language.program import Op
from runtime.language.reach import Reach
from runtime.language.speech import Speech

_MOST_CLAUSES = 12


class Classifier:
    """Classifies the steps of one playbook. `meetings` are the playbooks that it may hold."""

    def __init__(self, reach: Reach, *, meetings: tuple[str, ...] = (), meeting: bool = False) -> None:
        self._reach = reach
        self._meetings = meetings
        self._speech = Speech(reach, meeting=meeting)
        self._rules = (
            self._as_written,
            self._control,
            self._ending,
            self._meeting,
            self._jump_or_note,
            self._call,
            self._speech.waiting,
            self._speech.talking,
            self._thinking,
            self._work,
        )

    def classify(self, text: str) -> Instruction:
        """The instruction for a step; an EXE that is not `known` when no rule fits."""
        text = phrases.plain(text)
        bare = phrases.PREFIX.sub("", phrases.ORNAMENTS.sub("", text)).rstrip(". ;") or text
        for rule in self._rules:
            found = rule(text, bare)
            if found is not None:
                return found
        returns = phrases.AND_RETURN.search(bare) is not None
        return Instruction(Op.RET if returns else Op.EXE, text, known=returns)

    def _as_written(self, text: str, bare: str) -> Instruction | None:
        match = phrases.PBASM.match(text)
        return Instruction(Op(match[1]), match[2].strip()) if match else None

    def _control(self, text: str, bare: str) -> Instruction | None:
        if phrases.GO_TO.match(bare):
            return None
        loop = phrases.LOOP.match(bare) is not None
        otherwise = phrases.ELSE.match(bare)
        if not (loop or otherwise or phrases.BRANCH.match(bare)):
            return None
        if otherwise and bare[otherwise.end() :] and not phrases.BRANCH.match(bare[otherwise.end() :]):
            head = bare[: otherwise.end()].rstrip(" ,:")
            return Instruction(Op.CND, head, bare[otherwise.end() :])
        head, body = self._split_clause(text)
        return Instruction(Op.CND, head.rstrip(" :"), body, loop)

    def _split_clause(self, text: str) -> tuple[str, str | None]:
        """The condition and what is to be done, where the rest after a comma, colon or "then" is an instruction."""
        for match in islice(phrases.CLAUSE_START.finditer(text), _MOST_CLAUSES):
            rest = text[match.end() :]
            if rest and not phrases.BRANCH.match(rest) and self.classify(rest).known:
                return (text, None) if phrases.ELSE_INSIDE.search(rest) else (text[: match.start()], rest)
        return text, None

    def _ending(self, text: str, bare: str) -> Instruction | None:
        if phrases.END_PROGRAM.match(bare):
            return Instruction(Op.YLD, "for exit")
        if phrases.GO_TO.match(bare):
            return None
        if phrases.LEAVE_LOOP.match(bare):
            return Instruction(Op.EXE, text)
        match = phrases.RETURN.match(bare)
        return Instruction(Op.RET, phrases.TO_CALLER.sub("", match[1].strip())) if match else None

    def _meeting(self, text: str, bare: str) -> Instruction | None:
        for call, phrase in (("EndMeeting", phrases.END_MEETING), ("LeaveMeeting", phrases.LEAVE_MEETING)):
            over = phrase.match(bare)
            if over:
                which = f'"meeting {over[1]}"' if over[1] else ""
                return Instruction(Op.QUE, f"{call}({which})")
        invited = phrases.INVITE.match(bare)
        if invited:
            names = self._reach.agents_in(invited[1]) or [f'"{invited[1]}"']
            return Instruction(Op.QUE, f"InviteToMeeting([{', '.join(names)}])")
        held = phrases.HOLD.match(bare)
        meeting = self._held_meeting(held[1]) if held else None
        if meeting is None:
            return None
        names = self._reach.agents_in(bare)
        attendees = f"attendees=[{', '.join(names)}]" if names else ""
        return Instruction(Op.QUE, f"{meeting}({attendees}): {text}; YLD for call")

    def _held_meeting(self, subject: str) -> str | None:
        words = set(re.findall(r"\w+", subject.lower()))
        for meeting in self._meetings:
            wanted = set(phrases.spaced(meeting).lower().split())
            if wanted <= words or wanted - {"meeting"} <= words:
                return meeting
        only = self._meetings
        return only[0] if len(only) == 1 and "meeting" in words else None

    def _jump_or_note(self, text: str, bare: str) -> Instruction | None:
        if note := phrases.NOTE.match(bare):
            return Instruction(Op.CHK, f"N{note[1] or note[2]}")
        if jump := phrases.GO_TO.match(bare):
            return Instruction(Op.JMP, f"{int(jump[1]):02} {jump[2] or ''}".rstrip())
        return None

    def _call(self, text: str, bare: str) -> Instruction | None:
        if (given := phrases.SET_TO.match(bare)) and phrases.whole_call(given[2]):
            text = bare = f"{given[1]} = {given[2]}"
        assigned = phrases.ASSIGN.match(text)
        expression = text[assigned.end() :] if assigned else text
        name = phrases.whole_call(expression.rstrip("."))
        if name is not None:
            return self._calling(name, text.rstrip("."))
        if named := self._verb_call(bare):
            return named
        if not assigned and (known := self._reach.meant(bare)):
            return Instruction(Op.QUE, f"{known}(); YLD for call")
        if self._begins_with_call(bare) or self._contains_call(text):
            if phrases.AND_RETURN.search(bare):
                return Instruction(Op.RET, text)
            return Instruction(Op.QUE, f"{text}; YLD for call")
        if not assigned and phrases.CHANGE.match(bare):
            return Instruction(Op.EXE, text)
        return self._assigned(text, expression) if assigned else None

    def _assigned(self, text: str, expression: str) -> Instruction:
        """A variable that gets something else than a call's result: what a person answers, or what is computed."""
        bare = phrases.PREFIX.sub("", expression).rstrip(". ;")
        if not phrases.ASK_ALWAYS.match(bare) or self._speech.target(self._speech.addressee(bare), bare) != "user":
            return Instruction(Op.EXE, text)
        names = " and ".join(re.findall(r"\$\w+(?::\w+)?", text[: len(text) - len(expression)]))
        said = f"{expression.rstrip('. ;')}, for {names}"
        return Instruction(Op.QUE, f"Say(user, {said}){self._speech.wait_for('user', names)}")

    def _begins_with_call(self, bare: str) -> bool:
        """Whether a sentence begins with the name of a playbook: "GetOrderStatus and …", "Get order status and …"."""
        words = bare.split()
        if words and self._reach.knows(words[0]) and re.search(r".[A-Z_]", words[0]):
            return True
        names = (self._reach.meant(" ".join(words[:count])) for count in range(2, min(len(words), 6) + 1))
        return any(name and " " in phrases.spaced(name) for name in names)

    def _contains_call(self, text: str) -> bool:
        return any(self._reach.knows(name) for name in phrases.CALLED.findall(text))

    def _calling(self, name: str, text: str) -> Instruction:
        if name == "EndProgram":
            return Instruction(Op.YLD, "for exit")
        return Instruction(Op.QUE, text if name in phrases.RESULTLESS else f"{text}; YLD for call")

    def _verb_call(self, bare: str) -> Instruction | None:
        match = phrases.CALL_VERB.match(bare)
        if match is None or (not self._reach.knows(match[1]) and not match[2].startswith("(")):
            return None
        if phrases.whole_call(match[1] + match[2]):
            return self._calling(match[1], match[1] + match[2])
        given = phrases.WITH_VARIABLES.match(match[2])
        if given is None:
            return Instruction(Op.QUE, f"{bare}; YLD for call")
        arguments = ", ".join(re.findall(r"\$\w+", given[1] or ""))
        result = f"{given[2]} = " if given[2] else ""
        return Instruction(Op.QUE, f"{result}{match[1]}({arguments}); YLD for call")

    def _thinking(self, text: str, bare: str) -> Instruction | None:
        return Instruction(Op.TNK, text) if phrases.THINK.match(bare) else None

    def _work(self, text: str, bare: str) -> Instruction | None:
        if not phrases.WORK.match(bare):
            return None
        return Instruction(Op.RET if phrases.AND_RETURN.search(bare) else Op.EXE, text)
