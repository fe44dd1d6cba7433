"""Who attends a meeting that a step holds, and whom a `Say` that its author wrote as a call addresses."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from runtime.language.lowering.scope import Reach
from runtime.language.program import AgentKind
from runtime.language.syntax.metadata import MEETING_KEYS
from runtime.language.syntax.nodes import ParsedAgent, ParsedPlaybook, ParsedProgram
from runtime.language.syntax.signature import parse_python, spaced
from runtime.language.vocabulary.phrase import phrase, words_of
from runtime.language.vocabulary.word_list import WORD


def is_meeting(playbook: ParsedPlaybook) -> bool:
    """Whether a playbook is a meeting."""
    return playbook.metadata.get("meeting") is True


def attendees(playbook: ParsedPlaybook, agent: ParsedAgent, program: ParsedProgram, reach: Reach) -> frozenset[str]:
    """The agents that may hear what is said in this meeting; who is in none of them can only be spoken to directly.

    Those are the declared ones, those that a step of the agent invites, and people. A playbook that declares nobody may
    be an invited agent's: then also whoever is declared anywhere, and whoever takes part in meetings.
    """
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
    """The participants in "a tasting with the Cook and the user"; [] where none are named, or all that the meeting
    declares. None where somebody is named who is nobody known.
    """
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
