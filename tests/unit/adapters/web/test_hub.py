"""Who is told what, and what happens to a page that does not listen."""

import anyio
import pytest

from adapters.web import hub
from adapters.web.codec import WebVisitor
from adapters.web.hub import ConnectedPage, Hub


def browser(name: str) -> ConnectedPage:
    return ConnectedPage(WebVisitor(f"web:{name.lower()}", name))


async def test_frames_leave_in_the_order_they_came() -> None:
    page = browser("Ada")
    for number in range(3):
        page.push(str(number))
    assert [await page.next_frame() for _ in range(3)] == ["0", "1", "2"]


async def test_a_frame_leaves_at_once_where_the_connection_takes_it() -> None:
    sent: list[str] = []

    def at_once(frame: str) -> bool:
        sent.append(frame)
        return True

    page = ConnectedPage(WebVisitor("web:ada", "Ada"), at_once)
    page.push("1")
    page.push("2")
    assert (sent, page.waiting) == (["1", "2"], 0)


async def test_no_frame_overtakes_one_that_waits_or_is_being_sent() -> None:
    full = True
    sent: list[str] = []

    def at_once(frame: str) -> bool:
        if not full:
            sent.append(frame)
        return not full

    page = ConnectedPage(WebVisitor("web:ada", "Ada"), at_once)
    page.push("1")
    full = False
    page.push("2")
    for expected in ("1", "2"):
        frame = await page.next_frame()
        assert frame == expected
        if frame == "1":
            page.push("3")
        sent.append(frame)
    assert await page.next_frame() == "3"
    page.push("4")
    sent.append("3")
    assert await page.next_frame() == "4"
    sent.append("4")
    with anyio.move_on_after(0):
        await page.next_frame()
    page.push("5")
    assert sent == ["1", "2", "3", "4", "5"]


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
    assert [person.name for person in house.presence("lobby").people] == ["Ada"]
    house.leave(first)
    assert [person.name for person in house.presence("lobby").people] == ["Ada"]
    house.leave(second)
    assert house.presence("lobby").count == 0


async def test_a_message_is_pushed_to_the_pages_of_its_room_and_to_no_other() -> None:
    house = Hub()
    here = [browser(f"Here{number}") for number in range(3)]
    elsewhere = [browser(f"Elsewhere{number}") for number in range(50)]
    for page, room in [(page, "lobby") for page in here] + [(page, "ideas") for page in elsewhere]:
        house.enter(page)
        house.show(page, room)
    house.to_room("lobby", "in the room")
    assert [page.waiting for page in here] == [1] * 3
    assert [page.waiting for page in elsewhere] == [0] * 50


def test_of_very_many_people_the_first_are_named_and_all_are_counted() -> None:
    house = Hub()
    for number in range(hub.MAX_NAMED + 5):
        page = browser(f"P{number}")
        house.enter(page)
        house.show(page, "lobby")
    presence = house.presence("lobby")
    assert [person.name for person in presence.people] == [f"P{number}" for number in range(hub.MAX_NAMED)]
    assert presence.count == hub.MAX_NAMED + 5


def test_one_person_cannot_take_all_pages(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hub, "MAX_PAGES_A_PERSON", 2)
    house = Hub()
    first, second = browser("Ada"), browser("Ada")
    house.enter(first)
    house.enter(second)
    assert house.refusal(first.person) == "You have this chat open in 2 pages already. Close one of them."
    assert house.refusal(WebVisitor("web:grace", "Grace")) is None
    house.leave(first)
    assert house.refusal(first.person) is None


def test_pages_are_bounded_in_all(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hub, "MAX_PAGES", 1)
    house = Hub()
    page = browser("Ada")
    house.enter(page)
    refusal = house.refusal(WebVisitor("web:grace", "Grace"))
    assert refusal == "This chat is open in as many pages as it can serve. Try again later."
    house.leave(page)
    assert house.refusal(WebVisitor("web:grace", "Grace")) is None
