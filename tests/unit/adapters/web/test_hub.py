"""Who is told what, and what happens to a page that does not listen."""

from __future__ import annotations

import json

import pytest

from adapters.web import hub
from adapters.web.codec import Person
from adapters.web.hub import Browser, Hub

pytestmark = pytest.mark.anyio


def browser(name: str) -> Browser:
    return Browser(Person(f"web:{name.lower()}", name))


async def test_frames_leave_in_the_order_they_came() -> None:
    page = browser("Ada")
    for number in range(3):
        page.push(str(number))
    assert [await page.next_frame() for _ in range(3)] == ["0", "1", "2"]


@pytest.mark.parametrize(("bound", "limit"), [("MAX_WAITING_FRAMES", 2), ("MAX_WAITING_CHARACTERS", 3)])
def test_a_page_that_lets_too_much_wait_is_too_slow(bound: str, limit: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hub, bound, limit)
    page = browser("Ada")
    for _ in range(2):
        page.push("xx")
    assert not page.too_slow.is_set()
    page.push("xx")
    assert page.too_slow.is_set()


async def test_two_pages_of_one_person_are_one_person_present() -> None:
    house = Hub()
    first, second = browser("Ada"), browser("Ada")
    for page in (first, second):
        house.enter(page)
        house.show(page, "lobby")
    assert [person.name for person in house.people("lobby")] == ["Ada"]
    house.leave(first)
    assert [person.name for person in house.people("lobby")] == ["Ada"]
    house.leave(second)
    assert house.people("lobby") == []


async def test_changing_rooms_is_told_in_both() -> None:
    house = Hub()
    ada, grace, linus = browser("Ada"), browser("Grace"), browser("Linus")
    for page, room in ((ada, "lobby"), (grace, "ideas"), (linus, "lobby")):
        house.enter(page)
        house.show(page, room)
    await ada.next_frame()
    house.show(linus, "ideas")
    here = [json.loads(await page.next_frame()) for page in (ada, grace)]
    assert [[each["name"] for each in frame["people"]] for frame in here] == [["Ada"], ["Grace", "Linus"]]


async def test_news_of_a_room_goes_to_those_elsewhere() -> None:
    house = Hub()
    here, elsewhere, nowhere = browser("Ada"), browser("Grace"), browser("Linus")
    for page in (here, elsewhere, nowhere):
        house.enter(page)
    house.show(here, "lobby")
    house.show(elsewhere, "ideas")
    house.to_room("lobby", "in the room")
    house.to_others("lobby", "news of the room")
    assert await here.next_frame() == "in the room"
    assert [await elsewhere.next_frame(), await nowhere.next_frame()] == ["news of the room"] * 2
