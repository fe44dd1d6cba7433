"""Who hears which facts."""

from runtime.tape.facts.content import FactContent
from runtime.tape.facts.registry import FactListeners, hears
from runtime.tape.facts.session import AgentDismissed, NewsTold, SessionEnded


class _Listens:
    def __init__(self, heard: list[str]) -> None:
        self._heard = heard

    @hears(SessionEnded, AgentDismissed)
    def of_some(self, fact: FactContent) -> None:
        self._heard.append(f"some:{fact.kind}")

    def of_all(self, fact: FactContent) -> None:
        self._heard.append(f"all:{fact.kind}")


def test_a_fact_goes_to_who_hears_its_kind_in_the_order_of_subscribing() -> None:
    heard, facts = list[str](), FactListeners()
    listens = _Listens(heard)
    facts.subscribe(listens.of_some, listens.of_all)
    facts.tell(SessionEnded())
    facts.tell(NewsTold())
    assert heard == [f"some:{SessionEnded.kind}", f"all:{SessionEnded.kind}", f"all:{NewsTold.kind}"]


def test_who_subscribes_later_hears_kinds_that_were_told_of_before() -> None:
    heard, facts = list[str](), FactListeners()
    facts.subscribe(_Listens(heard).of_all)
    facts.tell(NewsTold())
    facts.subscribe(lambda fact: heard.append(f"late:{fact.kind}"))
    facts.tell(NewsTold())
    assert heard == [f"all:{NewsTold.kind}", f"all:{NewsTold.kind}", f"late:{NewsTold.kind}"]
