"""Words that steps begin with or end in, by what they say. A verb more is a word more here, and a case."""

from __future__ import annotations

from typing import Final

_LONGEST = 3
"""The number of words in the longest phrase."""


def _words(said: str) -> frozenset[str]:
    return frozenset(" ".join(one.split()) for one in said.split("|"))


WORK: Final = _words(
    "fix | change | improve | update | correct | adjust | edit | rewrite | delete | remove | save | store | call"
    " | calculate | compute | recalculate | increase | decrease | append | register | book | create | build | record"
    " | log | move | repeat | restart | rerun | write | draft | prepare | print | look | find | search | fetch"
    " | check | send | translate | count | forward | escalate | submit | file"
)
"""Verbs of work, which nobody says to a person as part of a message when no *to* introduces it."""

MAKES: Final = _words(
    "decide | determine | judge | assess | evaluate | figure out | work out | think | think of | think about | think up"
    " | consider | choose | pick | select | guess | estimate | create | make | generate | prepare | produce | calculate"
    " | compute | come up with | make up | invent | write | draft | compose | summarize | summarise | reason | plan"
    " | classify | split | roll | flip | find"
)
"""Verbs that make what a sentence keeps at its end."""

FIGURES: Final = _words("figure out | work out | decide | decide on | determine")
"""Verbs whose object is the variable that they make."""

NOTES: Final = _words("note | jot | write down | record | put")
"""Verbs that may replace a value or add to it."""

GETS: Final = _words("get | fetch | take | obtain | receive | read")
COMPUTES: Final = _words(
    "compute | calculate | recalculate | sum | count | add up | multiply | divide | subtract | round | combine"
    " | concatenate | format | translate | summarize | summarise | choose | select | pick | rank | estimate | classify"
    " | compare"
)
"""Verbs whose result is what a sentence returns: "Compute the sum and return it"."""
HANDS: Final = _words(
    "read | give | send | list | describe | summarize | summarise | recap | repeat | propose | hand | pass"
)
"""Verbs whose object is what somebody gets, and nothing that is asked for."""
ENDS: Final = _words("stop | end | quit | exit | finish | leave | break")
REPEATS: Final = _words("repeat | redo | do")
EARLIER: Final = _words("last | previous | above | first | these")
LATER: Final = _words("once | when | whenever | as soon as | after | if | unless | until")
ARTICLES: Final = _words("the | a | an | their | his | her | its | our | my | ai")
INTO: Final = _words("in | into | as | to | on")
LASTING: Final = _words("be | stay | keep | wait | remain | stop | hold | go | continue | sit | think | work")
"""What somebody may be asked to do until something is so."""
WHAT_FOR: Final = _words("about | on | over | regarding | concerning | to | for | until | in | at")
"""What comes behind the participants of a meeting."""


SERVED: Final = _words(
    "tenant | pupil | student | patient | candidate | applicant | passenger | traveller | traveler | reader | caller"
    " | member | learner | employee | shopper | subscriber | parent | donor | child | kid | buyer"
    " | listener | viewer | trainee"
    " | beginner | voter | borrower | newcomer | participant | fan"
    " | worker | foreman | farmer | keeper | developer | author"
)
"""Whom a program may be for, in place of the user, where it speaks to nobody else."""
ROLES: Final = SERVED | _words(
    "nurse | doctor | manager | boss | caretaker | driver | chef | cook | technician | supplier | authorities"
    " | police | architect | landlord | teacher | guard | staff | kitchen | sender | recipient | vet | plumber"
    " | administrator | supervisor | owner | office | colleague"
    " | lawyer | pharmacist | accountant"
    " | bank | director | secretary | assistant | operator | seller | vendor | courier"
    " | waiter | receptionist | headquarters"
)
"""People of whom only the program itself says who they are."""
FROM_THE_START: Final = _words(
    "start over | start again | begin again | begin over | start anew | start all over again | start from the beginning"
    " | start from the top | start over from the beginning | go back to the beginning | go back to the start"
    " | go back to the top | go back to the first step | go to the first step | go to the beginning | go to the start"
    " | return to the first step | return to the beginning | begin from the start | begin from the beginning"
)
"""Sentences that go to the first step of their playbook."""


def beginning(text: str, phrases: frozenset[str]) -> str:
    """The longest of these phrases with which a text begins; "" for none."""
    words = text.lower().replace(",", " ").split(maxsplit=_LONGEST)[:_LONGEST]
    starts = (" ".join(words[:count]) for count in range(len(words), 0, -1))
    return next((start for start in starts if start in phrases), "")


def variable_behind(text: str, phrases: frozenset[str]) -> str:
    """The variable at the end of a text behind one of these words, perhaps with an article; "" for none."""
    words = text.rstrip(" .").split()
    before = [word.lower() for word in words[:-1] if word.lower() != "the"]
    ends = len(words) > 1 and words[-1].startswith("$") and before[-1:] and before[-1] in phrases
    return words[-1] if ends else ""


def object_of(text: str, verbs: frozenset[str]) -> str:
    """The one variable that is all that follows a verb and an article: "figure out the $age"; "" for none."""
    rest = text[len(beginning(text, verbs)) :].split()
    words = rest[1:] if rest and rest[0].lower() in ARTICLES else rest
    return words[0] if len(words) == 1 and words[0].startswith("$") and beginning(text, verbs) else ""
