"""What a step means that speaks to somebody, or waits for somebody."""

from __future__ import annotations

import re

from runtime.language import phrases
from runtime.language.instruction import Instruction
from runtime.language.program import Op
from runtime.language.reach import Reach

_LEAD = r"(?:^[\w-]+\s+(?:back\s+)?|\b(?:to|with|from|by asking)\s+)(?:the\s+|each\s+|every\s+|both\s+)?"
_YIELDED = re.compile(r"(call|return|exit)$", re.IGNORECASE)


class Speech:
    """Tells who is spoken to in the steps of one playbook; `meeting` when these are part of a meeting."""

    def __init__(self, reach: Reach, *, meeting: bool) -> None:
        self._reach = reach
        self._meeting = meeting

    def waiting(self, text: str, bare: str) -> Instruction | None:
        if time := phrases.FOR_A_TIME.match(bare):
            return _sleeping(time)
        match = phrases.WAIT.match(bare)
        if match is None:
            return None
        whom = match[1] or "user"
        if re.match(r"yield\b", bare, re.IGNORECASE) and (over := _YIELDED.match(whom)):
            return Instruction(Op.YLD, f"for {over[1].lower()}")
        if re.search(r"\$[^\W\d]|\w\(", whom):
            return Instruction(Op.EXE, text)
        agents = self._reach.agents_in(whom)
        if len(agents) > 1 and re.search(r"\bor\b", whom, re.IGNORECASE):
            return Instruction(Op.EXE, text)
        if others := self._others(f"for {whom}"):
            first = "user" if phrases.PERSON_OUTSIDE.match(whom.removeprefix("the ")) else agents[0]
            waits = sorted([first, *others], key=lambda one: one == "user")
            return Instruction(Op.YLD, "; YLD ".join(f"for {'' if one == 'user' else 'agent '}{one}" for one in waits))
        if agents:
            return Instruction(Op.YLD, f"for agent {agents[0]}")
        if self._meeting and not re.search(r"\b(?:user|human|customer)\b", whom, re.IGNORECASE):
            return Instruction(Op.YLD, "for meeting")
        if phrases.PERSON.search(whom) or re.search(r"\b(?:repl|answer|respon|input|message)", whom, re.IGNORECASE):
            return Instruction(Op.YLD, "for user")
        return None

    def talking(self, text: str, bare: str) -> Instruction | None:
        if re.search(rf"{_LEAD}(?:{self._reach.any_remote})\b", bare, re.IGNORECASE):
            return Instruction(Op.EXE, text)
        if phrases.TO_ITSELF.match(bare):
            return None
        target = self.addressee(bare)
        asks = self._asks(text, bare, target)
        tells = self._tells(bare, target)
        if not (asks or tells):
            takes_part = self._meeting and phrases.TAKE_PART.match(bare)
            if not takes_part:
                return None
            asks, target = True, "meeting"
        said = re.sub(r"[;,]?\s*(?<![\w$])YLD for [^$]*$", "", text)
        target = self.target(target, text)
        others = [] if target == "meeting" else self._others(bare)
        instruction = "; ".join([f"Say({target}, {said})", *(f"Say({other}, the same)" for other in others)])
        if phrases.AND_END.search(said):
            return Instruction(Op.QUE, f"{instruction}; YLD for exit")
        if phrases.AND_RETURN.search(said):
            return Instruction(Op.QUE, f"{instruction}; YLD for return")
        if not asks:
            return Instruction(Op.QUE, instruction)
        waits = sorted([target, *others], key=lambda one: one == "user")
        waiting = "".join(self.wait_for(one, said) for one in waits)
        all_answer = "; done when all have answered" if others and "done when" not in waiting else ""
        return Instruction(Op.QUE, instruction + waiting + all_answer)

    def _tells(self, bare: str, target: str | None) -> bool:
        to_somebody = target is not None and phrases.TELL_IF_NAMED.match(bare)
        to_all = self._meeting and phrases.TELL_A_MEETING.match(bare)
        return bool(phrases.TELL.match(bare) or to_somebody or to_all)

    def _asks(self, text: str, bare: str, target: str | None) -> bool:
        if phrases.ASK_ALWAYS.match(bare) or (text.rstrip().endswith("?") and not phrases.THINK.match(bare)):
            return True
        if target and phrases.ASK.match(bare):
            from_agent = target != "user" and re.search(
                rf"\bfrom\s+(?:the\s+)?(?:{self._reach.any_agent})\b", bare, re.IGNORECASE
            )
            if phrases.ASK_IF_OBJECT.match(bare) and not (from_agent or self._spoken_to(bare)):
                return False
            return not re.match(r"(?:let|have)\s+\S+(?:\s+\S+)?\s+know\b", bare, re.IGNORECASE)
        return bool(phrases.TELL.match(bare) and phrases.ASKS_INSIDE.search(bare))

    def addressee(self, bare: str) -> str | None:
        """Who is spoken to: the first agent, person or group named as the object of the verb or after "to"."""
        bare = self._to_whom(bare)
        agent = re.search(rf"{_LEAD}(?:{self._reach.any_agent})\b", bare, re.IGNORECASE)
        person = self._spoken_to(bare)
        if agent and (not person or agent.start() <= person.start()):
            return self._reach.agents_in(agent[0])[0]
        if person:
            return "user"
        if self._meeting:
            return "meeting" if phrases.EVERYBODY.search(bare) else None
        return "user" if phrases.PERSON.search(bare) else None

    def _others(self, bare: str) -> list[str]:
        """Who else is spoken to: "Alice and Bob", "the user, Cook and Waiter"."""
        who = rf"(?:the\s+)?(?:{self._reach.any_agent}|{phrases.PERSON_OUTSIDE.pattern})\b"
        rest = rf"{_LEAD}{who}((?:\s*,\s*{who})*\s*,?\s+and\s+{who})"
        match = re.search(rest, self._to_whom(bare), re.IGNORECASE)
        if match is None:
            return []
        agents = self._reach.agents_in(match[1])
        return agents + ["user"] * (phrases.PERSON_OUTSIDE.search(match[1]) is not None)

    def _to_whom(self, bare: str) -> str:
        """A sentence from where it says to whom something is said about others: "Introduce Cook to the user"."""
        about = phrases.ABOUT_OTHERS.match(bare)
        to = re.search(
            rf"\bto\s+(?:the\s+)?(?:{self._reach.any_agent}|{phrases.PERSON.pattern})\b", bare, re.IGNORECASE
        )
        return bare[to.start() :] if about and to else bare

    def _spoken_to(self, bare: str) -> re.Match[str] | None:
        person = phrases.PERSON_OUTSIDE if self._meeting else phrases.PERSON
        return re.search(rf"{_LEAD}{person.pattern}", bare, re.IGNORECASE)

    def target(self, target: str | None, text: str) -> str:
        """In a meeting, what is for one of the agents is said to all, unless the step says "privately"."""
        if not self._meeting:
            return target or "user"
        private = re.search(r"\b(?:privately|in private|discreetly|quietly)\b", text, re.IGNORECASE)
        return target if target == "user" or (target and private) else "meeting"

    def wait_for(self, target: str, said: str) -> str:
        if target == "meeting":
            return "; YLD for meeting"
        if target != "user":
            return f"; YLD for agent {target}"
        until = phrases.UNTIL.search(said)
        asked = phrases.ASKS_INSIDE.search(said) if phrases.TELL.match(said) else None
        wanted = list(dict.fromkeys(phrases.VARIABLE.findall(said[asked.start() :] if asked else said)))
        if until:
            done = until[1]
        elif wanted:
            done = "the user gave " + " and ".join(f"${name}" for name in wanted)
        else:
            done = "the user answered"
        return f"; YLD for user; done when {done}"


def _sleeping(time: re.Match[str]) -> Instruction:
    count = "1" if time[1].isalpha() else time[1]
    scale = phrases.SECONDS[time[2].lower()]
    in_seconds = count if scale == 1 else f"{count} * {scale}"
    seconds = in_seconds if count.startswith("$") else f"{float(count) * scale:g}"
    return Instruction(Op.QUE, f"Sleep({seconds}); YLD for call")
