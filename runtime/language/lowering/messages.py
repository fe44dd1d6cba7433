"""The English of steps that speak: to whom, what may be part of the message, when it is said, what it waits for."""

from __future__ import annotations

import re
from collections.abc import Collection

from runtime.language.instructions.conditions.reading import read_answer
from runtime.language.instructions.model import End
from runtime.language.instructions.steps.course import begins_to_wait, course_of
from runtime.language.instructions.steps.setting import settings_of
from runtime.language.lowering import phrases
from runtime.language.lowering.clauses import unquoted
from runtime.language.lowering.instruction import LoweredInstruction, free
from runtime.language.vocabulary.phrase import PhraseMatch, phrase, words_of

NO_CLOCK = "no step waits for a time of day: `Wait 2 hours` waits, and a trigger such as `Every day at 17:00` begins"
NOTHING = "do nothing"
_ANEW = phrase("another of two words"), phrase("another of one word")
_OWN = frozenset({"their", "his", "her", "my", "our", "your"})
_BEFORE_WHOM = frozenset({"the", "back", "to", "with"})
OPTIONAL = "a value that may be left out is asked for until it is given"
NO_LIMIT = "a time limit for an answer is part of the sentence"
_WHY_MORE = {
    "some": "for which of them it is said, and when, is part of the sentence",
    "who": "who is meant is known only when it runs",
    "limit": NO_LIMIT,
    "where": "it is for a meeting, and none is held by this playbook",
    "talk": "whether it waits for their questions, and until when, is part of the sentence",
}
BUTTONS = 'buttons stand behind a question in its exact words: `Ask "Tea or milk?" with the options "Tea" and "Milk"`'
PLACEHOLDER = re.compile(r"\{[^{}\n]*\}")
QUOTATION = re.compile(r"\"[^\"]*\"|\u201c[^\u201d]*\u201d")


def in_a_list(before: str, end: str) -> bool:
    """Whether a word such as "quit" is the last of a list: "the options: order, status, quit"."""
    apart = end.strip().startswith((";", ".")) or end.split()[:1] == ["then"]
    if apart or " " in end.strip(" ,;.!").removeprefix("and ").removeprefix("then "):
        return False
    plain = unquoted(before)
    listed = phrase("last of a list").inside(plain)
    if listed is None or phrase("tell").begins(listed["last"]) or phrase("ask always").begins(listed["last"]):
        return False
    joined = end.lstrip(" ,").lower().startswith(("and ", "&"))
    return not joined or ":" in plain or phrase("choices").inside(plain) is not None


def may_be_their_end(before: str, end: str) -> bool:
    """Whether an `end` in several words may belong to the message `before` it: "how to save and close the chat"."""
    words = end.lower().strip(" ,.!").removeprefix("and ").split()
    apart = "then" in words or end.lstrip()[:1] in (";", ".") or before.rstrip(" ,")[-1:] in ('"', "\u201d")
    if apart or len(words) == 1 or (words[0] != "close" and not {"program", "programme"}.isdisjoint(words)):
        return False
    return may_go_on(before) or phrase("whether").inside(unquoted(before)) is not None


def has_the_end(before: str, end: str) -> bool:
    """Whether the words of an end are part of the message `before` it."""
    return in_a_list(before, end) or may_be_their_end(before, end)


def without_going_on(text: str, *, in_a_loop: bool) -> str:
    """A step without "and go on" at its end; in a loop that may be its next round, unless the step waits."""
    cut = phrase("and goes on").inside(text)
    if cut is None or not cut.start():
        return text
    head = text[: cut.start()]
    last = head.replace(" and ", ",").replace(" then ", ",").rpartition(",")[2].strip()
    ends = (course := course_of(last)) is not None and isinstance(course.does, End)
    if ends or (may_go_on(head) and not any(not one.in_words for one in settings_of(head))):
        return text
    return text if in_a_loop and not begins_to_wait(phrase("opening").without(head)) else head.rstrip(" ,;")


def is_indirect(text: str) -> bool:
    """Whether what comes after a text may be part of its message: "Tell the user that …"."""
    return phrase("indirect").inside(phrase("to people").left_out_of(unquoted(text))) is not None


def may_go_on(head: str) -> bool:
    """Whether an "and" with a verb behind it may go on with what a message says: "how to save", not "what is wrong"."""
    return is_indirect(head) and not (phrase("finite").inside(unquoted(head)) and not phrase("goes on").inside(head))


def is_a_thing(said: str) -> bool:
    """Whether the common noun behind a verb is what is said, and not an agent of this name: "Explain reasoning"."""
    verb, _, name = said.partition(" ")
    return verb.lower() in words_of("says a thing") and name.islower() and " " not in name


def is_told_to(head: str, rest: str, verb: str) -> bool:
    """Whether "and wait" belongs to what somebody is told to do: "Tell the user to restart it and wait a minute"."""
    asks = verb.lower().endswith("ask") or phrase("until they").begins(rest.strip()) is not None
    asks = asks or not words_of("of an answer").isdisjoint(rest.lower().replace("'", " ").split())
    return is_indirect(head) and not asks


def belongs_to_a_person(whom: str) -> bool:
    """Whether what is waited for is a person's: "the user's answer"."""
    owner, owns, _ = whom.replace("\u2019", "'").partition("'")
    return bool(owns) and phrase("people outside").is_all_of(owner.removeprefix("the ")) is not None


def somebody_elses(bare: str) -> str:
    """Whom a step is for, who belongs to somebody: "their manager"; "" for nobody, and where it is about them."""
    to = phrase("to somebody's person").begins(bare)
    if to and phrases.THEIRS & {to["who"].lower(), to["who"].lower().removesuffix("s")}:
        return to["who"]
    verb = phrases.beginning(bare, words_of("tells a person"))
    words = bare.replace("\u2019", "'").lower().split()
    behind = [word for word in words[len(verb.split()) or 1 :] if word not in _BEFORE_WHOM][:3]
    if not behind or not (behind[0] in _OWN or behind[0].endswith("'s")):
        return ""
    nouns = [word.rstrip(".,:;") for word in behind[1:]]
    known = (one for one in nouns if phrases.THEIRS & {one, one.removesuffix("s")})
    who = next(known, nouns[0] if verb and nouns else "")
    return who if who.isalpha() else ""


def only_waits(bare: str) -> bool:
    """Whether somebody in a meeting is to be there, and to say nothing: "Keep quiet until asked"."""
    first, _, rest = bare.lower().partition(" ")
    stays = first in ("stay", "remain") and phrase("until").inside(rest) is not None
    return stays or rest.partition(" ")[0] in words_of("silent")


def only_offers(bare: str) -> bool:
    """Whether a step makes an offer, and does not say that it is a question: it names no value, and nobody chooses."""
    asks = any(phrase(name).inside(bare) for name in ("asks inside", "answer kept", "whether"))
    typed = any(":" in one[0] for one in phrases.VARIABLE.finditer(bare))
    return phrase("offers").begins(bare) is not None and not (asks or typed)


def more_than_words(bare: str, *, asks: bool, meeting: bool, given: Collection[str]) -> str:
    """Why a message may be more than its words, or more than one; "" where it is not."""
    words = bare.lower().replace(",", " ").replace(":", " ").split()
    if phrase("prints").begins(unquoted(bare)):
        return "it may be work with a printer"
    plain = QUOTATION.sub(" ", bare)
    if why := _surely_more(plain, meeting=meeting):
        return why
    typed = [one["name"] for one in phrase("a new value").all_inside(plain)]
    if not meeting and (asks or words[:1] in (["let"], ["have"])) and phrase("asks several people").begins(bare):
        return "it asks several people, and one answer would end it"
    if not asks:
        typed += [kept["name"] for kept in phrase("answer kept").all_inside(bare)]
        new = next((name for name in typed if name not in given), None)
        if new is not None:
            return f"it does not say who gives ${new}"
        return "it may be more than words" if phrase("gives more than words").begins(bare) else ""
    if phrase("state of a person").begins(bare):
        return "it may be asked, or judged from what was said"
    if phrase("whoever is meant").inside(bare):
        return "who is meant is known only when it runs"
    if "$" in bare and _may_be_left_out(bare):
        return OPTIONAL
    until = phrase("until").inside(bare)
    return _until(until["what"], bare) if until else ""


def _until(what: str, bare: str) -> str:
    """Why what ends a question may not end it; "" where it does."""
    if phrase("a time").begins(what):
        return NO_CLOCK
    if "$" not in bare and phrase("about a thing").begins(what):
        return "what is asked for is not kept, and tested"
    return "until when is not said" if read_answer(what) else ""


def _may_be_left_out(bare: str) -> bool:
    perhaps, left_out = phrase("perhaps asked").inside(bare), phrase("may be left out").inside(bare)
    if perhaps and not (perhaps["other"] and phrase("whether").inside(bare[: perhaps.start()])):
        return True
    return left_out is not None and not phrase("whether").inside(bare[: left_out.start()])


def _surely_more(plain: str, *, meeting: bool) -> str:
    if phrase("brings to a meeting").begins(plain):
        return "a meeting is held by a playbook of its own, with `meeting: true`"
    found = phrase("more than a message").inside(plain)
    before = plain[: found.start()] if found else ""
    apart = found is not None and found["limit"] and before.rstrip().endswith((" and", ",", " then"))
    if found is None or (not apart and (is_indirect(before) or phrase("whether").inside(before))):
        return ""
    return next(
        (why for part, why in _WHY_MORE.items() if found[part] and not (meeting and part in ("where", "talk"))), ""
    )


def waits_for_a_time(bare: str) -> bool:
    """Whether a step waits for a time of day: "Sleep until 8 o'clock"."""
    return phrase("pauses until").begins(bare) is not None and lasts_until_a_time(bare)


def lasts_until_a_time(plain: str) -> bool:
    """Whether a time of day ends something: "Loop until midnight"."""
    until = phrase("until").inside(plain)
    return until is not None and phrase("a time").begins(until["what"]) is not None


def missing_by_a_time(condition: str) -> bool:
    """Whether a time of day ends the wait for something: "If they have not come by 5 pm"."""
    by = phrase("not yet by").inside(unquoted(condition))
    return by is not None and phrase("a time").begins(by["what"]) is not None


def asked_anew(plain: str, asked: Collection[str]) -> PhraseMatch | None:
    """The `noun` of a question that names one of the variables `asked` before: "ask for another date"; else None."""
    begins = phrase("question begins").inside(plain)
    if begins is None or phrase("question about").inside(begins.rest):
        return None
    found = (one for pattern in _ANEW for one in pattern.all_inside(plain) if one.start() >= begins.end())
    return next((one for one in found if one["noun"].lower().replace(" ", "_") in asked), None)


def before_what(text: str) -> str:
    """A step up to its message: "Tell only Ada that …"."""
    what = phrase("what is said").inside(unquoted(text))
    return text[: what.start()] if what else text


def perhaps_later(text: str, bare: str) -> LoweredInstruction | None:
    """A free step for "Remind them in 10 minutes to drink", which is not said now; None for others."""
    whole = phrase("to people").left_out_of(unquoted(bare)).replace("that time", "the time")
    told = phrase("indirect").inside(whole) or phrase("whether").inside(whole)
    whole = whole[: told.start()] if told else whole
    reminded = bare.lower().startswith("remind") and phrase("later reminded").inside(whole)
    when = reminded or phrase("later").inside(whole)
    return free(text, "when it is said is part of the sentence") if when else None


def perhaps_over(text: str, said: str) -> LoweredInstruction | None:
    """A free step for "Tell the user how to save and quit", which may or may not end the program; None for others."""
    over = phrase("and end").inside(said)
    before = said[: over.start()] if over else ""
    named = over is not None and " " in over.whole.strip(" ,;.").removeprefix("and ").removeprefix("then ")
    if over is None or (named and not (before.rstrip().endswith(",") and may_be_their_end(before, over.whole))):
        return None
    if in_a_list(before, over.whole) or (before.rstrip().endswith(",") and phrase("says that").begins(before)):
        return None
    told = is_indirect(before) or ":" in unquoted(before)
    return free(text, f"{over.whole.strip(' ,;.')!r} may be part of what is said") if told else None
