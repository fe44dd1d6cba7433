"""What a step means: the rules, in the order in which they are tried."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache

from runtime.language import phrases
from runtime.language.naming import camel_case
from runtime.language.program import Op

_LEAD = r"(?:^[\w-]+\s+(?:back\s+)?|\b(?:to|with|from|by asking)\s+)(?:the\s+|each\s+|every\s+|both\s+)?"


@dataclass(frozen=True, slots=True)
class Instruction:
    """A classified step. `body` is what stands in the same sentence and is done when the condition holds."""

    op: Op
    text: str
    body: str | None = None
    loop: bool = False
    known: bool = True


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What a step can refer to: playbooks by name (others' as `Agent.Name`), the other agents, and which of the
    playbooks are meetings. `meeting`: the step itself is part of a meeting. `remote` agents are only called."""

    playbooks: frozenset[str]
    agents: tuple[str, ...]
    meetings: tuple[str, ...] = ()
    meeting: bool = False
    remote: tuple[str, ...] = ()


class Classifier:
    """Classifies the steps of one playbook."""

    def __init__(self, surroundings: Surroundings) -> None:
        self._around = surroundings
        self._agents = {agent: _mention(agent) for agent in surroundings.agents}
        self._any_remote = "|".join(map(_mention, surroundings.remote)) or r"(?!)"
        self._any_agent = "|".join(pattern for pattern in self._agents.values()) or r"(?!)"
        self._calls = {_simple(name): name for name in sorted(surroundings.playbooks)}
        self._rules = (
            self._as_written,
            self._control,
            self._ending,
            self._meeting,
            self._jump_or_note,
            self._call,
            self._waiting,
            self._talking,
            self._thinking,
            self._work,
        )

    def classify(self, text: str) -> Instruction:
        """The instruction for a step; an EXE that is not `known` when no rule fits."""
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
        for match in phrases.CLAUSE_START.finditer(text):
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
            names = self._named_agents(invited[1]) or [f'"{invited[1]}"']
            return Instruction(Op.QUE, f"InviteToMeeting([{', '.join(names)}])")
        held = phrases.HOLD.match(bare)
        meeting = self._held_meeting(held[1]) if held else None
        if meeting is None:
            return None
        names = self._named_agents(bare)
        attendees = f"attendees=[{', '.join(names)}]" if names else ""
        return Instruction(Op.QUE, f"{meeting}({attendees}): {text}; YLD for call")

    def _held_meeting(self, subject: str) -> str | None:
        words = set(re.findall(r"\w+", subject.lower()))
        for meeting in self._around.meetings:
            wanted = set(phrases.spaced(meeting).lower().split())
            if wanted <= words or wanted - {"meeting"} <= words:
                return meeting
        only = self._around.meetings
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
        if not assigned and (known := self._calls.get(_simple(bare))):
            return Instruction(Op.QUE, f"{known}(); YLD for call")
        if self._begins_with_call(bare) or self._contains_call(text):
            if phrases.AND_RETURN.search(bare):
                return Instruction(Op.RET, text)
            return Instruction(Op.QUE, f"{text}; YLD for call")
        return self._assigned(text, expression) if assigned else None

    def _assigned(self, text: str, expression: str) -> Instruction:
        """A variable that gets something else than a call's result: what a person answers, or what is computed."""
        bare = phrases.PREFIX.sub("", expression).rstrip(". ;")
        if not phrases.ASK_ALWAYS.match(bare) or self._target(self._addressee(bare), bare) != "user":
            return Instruction(Op.EXE, text)
        names = " and ".join(re.findall(r"\$\w+(?::\w+)?", text[: len(text) - len(expression)]))
        said = f"{expression.rstrip('. ;')}, for {names}"
        return Instruction(Op.QUE, f"Say(user, {said}){self._wait_for('user', names)}")

    def _begins_with_call(self, bare: str) -> bool:
        """Whether a sentence begins with the name of a playbook: "GetOrderStatus and …", "Get order status and …"."""
        words = bare.split()
        if words and words[0] in self._around.playbooks and re.search(r".[A-Z_]", words[0]):
            return True
        names = (self._calls.get(_simple(" ".join(words[:count]))) for count in range(2, min(len(words), 6) + 1))
        return any(name and " " in phrases.spaced(name) for name in names)

    def _contains_call(self, text: str) -> bool:
        return any(name in self._around.playbooks for name in phrases.CALLED.findall(text))

    def _calling(self, name: str, text: str) -> Instruction:
        if name == "EndProgram":
            return Instruction(Op.YLD, "for exit")
        return Instruction(Op.QUE, text if name in phrases.RESULTLESS else f"{text}; YLD for call")

    def _verb_call(self, bare: str) -> Instruction | None:
        match = phrases.CALL_VERB.match(bare)
        if match is None or (match[1] not in self._around.playbooks and not match[2].startswith("(")):
            return None
        if phrases.whole_call(match[1] + match[2]):
            return self._calling(match[1], match[1] + match[2])
        given = phrases.WITH_VARIABLES.match(match[2])
        if given is None:
            return Instruction(Op.QUE, f"{bare}; YLD for call")
        arguments = ", ".join(re.findall(r"\$\w+", given[1] or ""))
        result = f"{given[2]} = " if given[2] else ""
        return Instruction(Op.QUE, f"{result}{match[1]}({arguments}); YLD for call")

    def _waiting(self, text: str, bare: str) -> Instruction | None:
        if time := phrases.FOR_A_TIME.match(bare):
            count = "1" if time[1].isalpha() else time[1]
            scale = phrases.SECONDS[time[2].lower()]
            if count.startswith("$"):
                seconds = count if scale == 1 else f"{count} * {scale}"
            else:
                seconds = f"{float(count) * scale:g}"
            return Instruction(Op.QUE, f"Sleep({seconds}); YLD for call")
        match = phrases.WAIT.match(bare)
        if match is None:
            return None
        whom = match[1] or "user"
        if re.search(r"\$[^\W\d]|\w\(", whom):
            return Instruction(Op.EXE, text)
        agents = self._named_agents(whom)
        if len(agents) > 1 and re.search(r"\bor\b", whom, re.IGNORECASE):
            return Instruction(Op.EXE, text)
        if others := self._others(f"for {whom}"):
            first = "user" if phrases.PERSON_OUTSIDE.match(whom.removeprefix("the ")) else agents[0]
            waits = sorted([first, *others], key=lambda one: one == "user")
            return Instruction(Op.YLD, "; YLD ".join(f"for {'' if one == 'user' else 'agent '}{one}" for one in waits))
        if agents:
            return Instruction(Op.YLD, f"for agent {agents[0]}")
        if self._around.meeting and not re.search(r"\b(?:user|human|customer)\b", whom, re.IGNORECASE):
            return Instruction(Op.YLD, "for meeting")
        if phrases.PERSON.search(whom) or re.search(r"\b(?:repl|answer|respon|input|message)", whom, re.IGNORECASE):
            return Instruction(Op.YLD, "for user")
        return None

    def _talking(self, text: str, bare: str) -> Instruction | None:
        if re.search(rf"{_LEAD}(?:{self._any_remote})\b", bare, re.IGNORECASE):
            return Instruction(Op.EXE, text)
        if phrases.TO_ITSELF.match(bare):
            return None
        target = self._addressee(bare)
        asks = self._asks(text, bare, target)
        tells = self._tells(bare, target)
        if not (asks or tells):
            takes_part = self._around.meeting and phrases.TAKE_PART.match(bare)
            if not takes_part:
                return None
            asks, target = True, "meeting"
        said = re.sub(r"[;,]?\s*(?<![\w$])YLD for [^$]*$", "", text)
        target = self._target(target, text)
        others = [] if target == "meeting" else self._others(bare)
        instruction = "; ".join([f"Say({target}, {said})", *(f"Say({other}, the same)" for other in others)])
        if phrases.AND_END.search(said):
            return Instruction(Op.QUE, f"{instruction}; YLD for exit")
        if phrases.AND_RETURN.search(said):
            return Instruction(Op.QUE, f"{instruction}; YLD for return")
        if not asks:
            return Instruction(Op.QUE, instruction)
        waits = sorted([target, *others], key=lambda one: one == "user")
        waiting = "".join(self._wait_for(one, said) for one in waits)
        all_answer = "; done when all have answered" if others and "done when" not in waiting else ""
        return Instruction(Op.QUE, instruction + waiting + all_answer)

    def _tells(self, bare: str, target: str | None) -> bool:
        to_somebody = target is not None and phrases.TELL_IF_NAMED.match(bare)
        to_all = self._around.meeting and phrases.TELL_A_MEETING.match(bare)
        return bool(phrases.TELL.match(bare) or to_somebody or to_all)

    def _asks(self, text: str, bare: str, target: str | None) -> bool:
        if phrases.ASK_ALWAYS.match(bare) or (text.rstrip().endswith("?") and not phrases.THINK.match(bare)):
            return True
        if target and phrases.ASK.match(bare):
            from_agent = target != "user" and re.search(
                rf"\bfrom\s+(?:the\s+)?(?:{self._any_agent})\b", bare, re.IGNORECASE
            )
            if phrases.ASK_IF_OBJECT.match(bare) and not (from_agent or self._spoken_to(bare)):
                return False
            return not re.match(r"(?:let|have)\s+\S+(?:\s+\S+)?\s+know\b", bare, re.IGNORECASE)
        return bool(phrases.TELL.match(bare) and phrases.ASKS_INSIDE.search(bare))

    def _addressee(self, bare: str) -> str | None:
        """Who is spoken to: the first agent, person or group named as the object of the verb or after "to"."""
        bare = self._to_whom(bare)
        agent = re.search(rf"{_LEAD}(?:{self._any_agent})\b", bare, re.IGNORECASE)
        person = self._spoken_to(bare)
        if agent and (not person or agent.start() <= person.start()):
            return self._named_agents(agent[0])[0]
        if person:
            return "user"
        if self._around.meeting:
            return "meeting" if phrases.EVERYBODY.search(bare) else None
        return "user" if phrases.PERSON.search(bare) else None

    def _others(self, bare: str) -> list[str]:
        """Who else is spoken to: "Alice and Bob", "the user, Cook and Waiter"."""
        who = rf"(?:the\s+)?(?:{self._any_agent}|{phrases.PERSON_OUTSIDE.pattern})\b"
        rest = rf"{_LEAD}{who}((?:\s*,\s*{who})*\s*,?\s+and\s+{who})"
        match = re.search(rest, self._to_whom(bare), re.IGNORECASE)
        if match is None:
            return []
        agents = self._named_agents(match[1])
        return agents + ["user"] * (phrases.PERSON_OUTSIDE.search(match[1]) is not None)

    def _to_whom(self, bare: str) -> str:
        """A sentence from where it says to whom something is said about others: "Introduce Cook to the user"."""
        about = phrases.ABOUT_OTHERS.match(bare)
        to = re.search(rf"\bto\s+(?:the\s+)?(?:{self._any_agent}|{phrases.PERSON.pattern})\b", bare, re.IGNORECASE)
        return bare[to.start() :] if about and to else bare

    def _spoken_to(self, bare: str) -> re.Match[str] | None:
        person = phrases.PERSON_OUTSIDE if self._around.meeting else phrases.PERSON
        return re.search(rf"{_LEAD}{person.pattern}", bare, re.IGNORECASE)

    def _target(self, target: str | None, text: str) -> str:
        """In a meeting, what is for one of the agents is said to all, unless the step says "privately"."""
        if not self._around.meeting:
            return target or "user"
        private = re.search(r"\b(?:privately|in private|discreetly|quietly)\b", text, re.IGNORECASE)
        return target if target == "user" or (target and private) else "meeting"

    def _wait_for(self, target: str, said: str) -> str:
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

    def _thinking(self, text: str, bare: str) -> Instruction | None:
        return Instruction(Op.TNK, text) if phrases.THINK.match(bare) else None

    def _work(self, text: str, bare: str) -> Instruction | None:
        if not phrases.WORK.match(bare):
            return None
        return Instruction(Op.RET if phrases.AND_RETURN.search(bare) else Op.EXE, text)

    def _named_agents(self, text: str) -> list[str]:
        found = [
            (match.start(), agent)
            for agent, pattern in self._agents.items()
            if (match := re.search(rf"\b{pattern}\b", text, re.IGNORECASE))
        ]
        return [agent for _, agent in sorted(found)]


@lru_cache(maxsize=4096)
def _mention(agent: str) -> str:
    words = [re.escape(word) for word in phrases.spaced(agent).split()]
    return r"[\s_-]?".join(words)


@lru_cache(maxsize=4096)
def _simple(text: str) -> str:
    """A name for comparison: "Create a ticket" and CreateTicket are the same."""
    words = re.sub(r"\b(?:a|an|the)\b", " ", phrases.spaced(text), flags=re.IGNORECASE)
    return (camel_case(words) or text).lower()
