"""What people do on Slack besides writing: changes, marks, buttons, commands, forms, and an assistant's thread."""

from __future__ import annotations

from contextlib import aclosing
from pathlib import Path
from typing import Any

import anyio
import pytest
from msgspec.structs import replace

from adapters.adapter import Inbound
from adapters.slack.adapter import SlackAdapter, SlackOptions
from runtime.core.address import Speaker
from runtime.core.message import Choice
from runtime.core.quote import Quote
from runtime.core.texts import load_texts
from tests.contract.slack.speaking import ADA, HOST, new_adapter, send, thread
from tests.fakes.clock import FakeClock
from tests.fakes.slack.conversations import BOT_USER, TEAM
from tests.fakes.slack.people import CHANNEL, DIRECT, FRIEND, OTHER_TEAM, PERSON
from tests.fakes.slack.platform import SlackPlatform

pytestmark = pytest.mark.anyio

ADA_ID = f"slack:{TEAM}:{PERSON}"


async def test_message_has_its_id_its_space_and_its_persons_language(
    adapter: SlackAdapter, platform: SlackPlatform
) -> None:
    ts = platform.say("hi", channel=DIRECT)
    async with adapter.connect() as inbound:
        heard = await anext(inbound)
    assert (heard.act, heard.message_id, heard.space, heard.language) == ("message", ts, TEAM, "en-GB")


async def test_people_of_another_workspace_who_share_a_channel_are_told_from_our_own(
    adapter: SlackAdapter, platform: SlackPlatform
) -> None:
    root = platform.mention("ours")
    platform.mention("theirs", person=FRIEND, user_team=OTHER_TEAM, team=OTHER_TEAM)
    platform.teams[FRIEND] = OTHER_TEAM
    platform.react("eyes", root, person=FRIEND)
    asked = await send(adapter, "Well?", to=thread(root))
    await adapter.offer(thread(root), asked, "Well?", [Choice("c1", "Yes")], speaker=HOST, nonce="page.0")
    platform.press("Yes", platform.messages()[0], person=FRIEND)
    async with adapter.connect() as inbound:
        heard = [await anext(inbound) for _ in range(4)]
    assert [(m.act, m.person_name, m.outsider) for m in heard] == [
        ("message", "Ada Lovelace", False),
        ("message", "Bob", True),
        ("reaction", "Bob", True),
        ("choice", "Bob", True),
    ]
    assert {m.space for m in heard} == {TEAM}


async def test_what_a_command_says_in_a_channel_mentions_nobody(adapter: SlackAdapter, platform: SlackPlatform) -> None:
    platform.command(f"[@Bob](person:slack:{TEAM}:{FRIEND}) <!channel> hi")
    async with adapter.connect() as inbound:
        await anext(inbound)
    [posted] = platform.messages()
    assert f"<@{FRIEND}>" not in str(posted.blocks)
    assert "<!channel>" not in str(posted.blocks)
    assert "hi" in str(posted.blocks)


async def test_change_and_deletion_are_heard_as_such(adapter: SlackAdapter, platform: SlackPlatform) -> None:
    root = platform.mention("fist")
    platform.rewrite(root, f"<@{BOT_USER}> first")
    reply = platform.say("more", thread=root)
    platform.rewrite(reply, "less")
    platform.remove(reply)
    platform.remove(root)
    async with adapter.connect() as inbound:
        heard = [await anext(inbound) for _ in range(6)]
    assert [(m.act, m.text, m.message_id) for m in heard] == [
        ("message", "fist", root),
        ("edit", "first", root),
        ("message", "more", reply),
        ("edit", "less", reply),
        ("deletion", "", reply),
        ("deletion", "", root),
    ]
    assert {m.address for m in heard} == {thread(root)}
    assert {(m.person_id, m.addressed) for m in heard} == {(ADA_ID, True)}


async def test_our_own_changes_and_previews_of_links_are_passed_over(
    adapter: SlackAdapter, platform: SlackPlatform
) -> None:
    ts = await send(adapter, "mine")
    platform.rewrite(ts, "still mine", channel=DIRECT)
    platform.remove(ts, channel=DIRECT)
    theirs = platform.say("see https://a.example", channel=DIRECT)
    platform.rewrite(theirs, "see https://a.example", channel=DIRECT)
    platform.react("eyes", theirs, channel=DIRECT, person=BOT_USER)
    platform.say("next", channel=DIRECT)
    async with adapter.connect() as inbound:
        assert [(await anext(inbound)).text for _ in range(2)] == ["see https://a.example", "next"]


async def test_marks_of_people_are_heard_in_the_thread_of_the_message(
    adapter: SlackAdapter, platform: SlackPlatform
) -> None:
    root = platform.mention("hello")
    async with adapter.connect() as inbound:
        await anext(inbound)
        ts = await send(adapter, "hi", to=thread(root))
        platform.react("+1", ts, person=FRIEND)
        platform.react("+1", ts, person=FRIEND, gone=True)
        heard = [await anext(inbound) for _ in range(2)]
    assert [(m.act, m.text, m.message_id, m.address, m.addressed, m.person_name) for m in heard] == [
        ("reaction", ":+1:", ts, thread(root), True, "Bob"),
        ("reaction", "", ts, thread(root), True, "Bob"),
    ]
    assert platform.calls_of("reactions.get") == []


async def test_mark_on_an_older_message_is_placed_by_asking_slack(
    options: SlackOptions, adapter: SlackAdapter, platform: SlackPlatform, clock: FakeClock
) -> None:
    root = platform.mention("hello")
    ts = await send(adapter, "hi", to=thread(root))
    platform.react("tada", ts)
    async with aclosing(new_adapter(options, clock=clock)) as restarted, restarted.connect() as inbound:
        await anext(inbound)
        assert (await anext(inbound)).address == thread(root)


async def test_mark_on_a_message_that_is_gone_is_passed_over(
    options: SlackOptions, adapter: SlackAdapter, platform: SlackPlatform, clock: FakeClock
) -> None:
    ts = await send(adapter, "hi", to=thread(platform.mention("hello")))
    platform.react("tada", ts)
    await adapter.delete(thread(ts), ts, speaker=HOST)
    async with aclosing(new_adapter(options, clock=clock)) as restarted, restarted.connect() as inbound:
        await anext(inbound)
        platform.say("still there?", channel=DIRECT)
        assert (await anext(inbound)).text == "still there?"


async def test_shared_message_is_a_quote(adapter: SlackAdapter, platform: SlackPlatform) -> None:
    shared = {"is_share": True, "ts": "1.2", "author_name": "Bob", "text": "the plan"}
    platform.say("what of this?", channel=DIRECT, attachments=[shared])
    async with adapter.connect() as inbound:
        heard = await anext(inbound)
    assert (heard.quote, heard.around) == (None, (Quote("1.2", "Bob", "the plan", "shared"),))


# Buttons.


async def test_choices_are_buttons_a_press_is_heard_and_they_go_again(
    adapter: SlackAdapter, platform: SlackPlatform
) -> None:
    root = platform.mention("hello")
    ts = await send(adapter, "May I?", to=thread(root))
    choices = [Choice("q1.yes", "Yes"), Choice("q1.no", "No")]
    for _ in range(2):
        await adapter.offer(thread(root), ts, "May I?", choices, speaker=HOST, nonce="page.0")
    [posted] = platform.messages()
    event_id = platform.press("No", posted, person=FRIEND)
    async with adapter.connect() as inbound:
        await anext(inbound)
        heard = await anext(inbound)
        await adapter.offer(thread(root), ts, "May I?", [], speaker=HOST, nonce="page.0")
        platform.say("next", channel=DIRECT)
        await anext(inbound)
    assert (heard.act, heard.choice, heard.text, heard.message_id) == ("choice", "q1.no", "No", ts)
    assert (heard.address, heard.person_id) == (thread(root), f"slack:{TEAM}:{FRIEND}")
    assert [block["type"] for block in posted.blocks] == ["section"]
    assert platform.events.events[event_id].done.is_set()


async def test_as_many_choices_as_promised_are_taken(adapter: SlackAdapter, platform: SlackPlatform) -> None:
    limits = adapter.capabilities
    ts = await send(adapter, "Which?")
    choices = [Choice(f"c{n}", "x" * limits.max_choice_label) for n in range(limits.max_choices)]
    await adapter.offer(ADA, ts, "Which?", choices, speaker=HOST, nonce="page.0")
    assert len(platform.messages(DIRECT)[0].blocks[1]["elements"]) == limits.max_choices


# The slash command and its form.


async def test_slash_command_in_a_direct_message_is_a_command_there(
    adapter: SlackAdapter, platform: SlackPlatform
) -> None:
    event_id = platform.command("stop", channel=DIRECT)
    platform.say("next", channel=DIRECT)
    async with adapter.connect() as inbound:
        heard = await anext(inbound)
        assert not platform.events.events[event_id].done.is_set()
        await anext(inbound)
        await platform.until(platform.events.events[event_id].done.is_set)
    assert (heard.command, heard.address, heard.person_id, heard.private) == ("stop", ADA, ADA_ID, True)
    assert platform.events.events[event_id].words == {"response_type": "ephemeral", "text": "✓"}


async def test_slash_command_in_a_channel_is_for_the_thread_where_the_person_was_heard_last(
    adapter: SlackAdapter, platform: SlackPlatform
) -> None:
    root = platform.mention("hello")
    platform.mention("hello from me", person=FRIEND)
    async with adapter.connect() as inbound:
        for _ in range(2):
            await anext(inbound)
        platform.command("stop")
        heard = await anext(inbound)
    assert (heard.command, heard.address) == ("stop", thread(root))


async def test_help_is_told_to_the_person_alone(adapter: SlackAdapter, platform: SlackPlatform) -> None:
    event_id = platform.command("")
    platform.say("next", channel=DIRECT)
    async with adapter.connect() as inbound:
        assert (await anext(inbound)).text == "next"
    words = platform.events.events[event_id].words
    assert words["response_type"] == "ephemeral"
    assert "`/parley stop`" in words["text"]
    assert platform.messages() == []


async def test_words_after_the_slash_command_begin_a_thread(adapter: SlackAdapter, platform: SlackPlatform) -> None:
    platform.command("what is new?")
    async with adapter.connect() as inbound:
        heard = await anext(inbound)
        [root] = platform.messages()
        platform.say("and more", thread=root.ts)
        follow = await anext(inbound)
    assert (heard.text, heard.command, heard.address) == ("what is new?", None, thread(root.ts))
    assert root.shown == "*Ada Lovelace*\nwhat is new?"
    assert (follow.addressed, follow.address) == (True, thread(root.ts))


async def test_bot_outside_of_the_channel_says_so_to_the_person_alone(
    adapter: SlackAdapter, platform: SlackPlatform
) -> None:
    platform.conversations.open(CHANNEL).member = False
    event_id = platform.command("start what is new?")
    platform.say("next", channel=DIRECT)
    async with adapter.connect() as inbound:
        assert (await anext(inbound)).text == "next"
    assert "/invite" in platform.events.events[event_id].words["text"]


@pytest.mark.parametrize("given", ["!new", "/parley new"])
async def test_new_means_the_same_as_a_word_and_as_a_slash_command(
    given: str, adapter: SlackAdapter, platform: SlackPlatform
) -> None:
    root = platform.mention("hello")
    async with adapter.connect() as inbound:
        await anext(inbound)
        if given == "!new":
            platform.say("!new", thread=root)
        else:
            platform.command("new")
        heard = await anext(inbound)
    assert (heard.command, heard.address) == ("new", thread(root))
    assert platform.surfaces.views == []


async def test_new_opens_a_form_where_there_is_no_conversation_to_end(
    adapter: SlackAdapter, platform: SlackPlatform
) -> None:
    platform.command("new")
    platform.say("next", channel=DIRECT)
    async with adapter.connect() as inbound:
        assert (await anext(inbound)).text == "next"
    [view] = platform.surfaces.views
    assert view["callback_id"] == "parley_new"


async def test_longer_text_is_written_in_a_form(adapter: SlackAdapter, platform: SlackPlatform) -> None:
    platform.command("start")
    async with adapter.connect() as inbound, anyio.create_task_group() as tasks:

        async def fill_in() -> None:
            await platform.until(lambda: bool(platform.surfaces.views))
            platform.submit("a long\nstory")

        tasks.start_soon(fill_in)
        heard = await anext(inbound)
    [root] = platform.messages()
    assert (heard.text, heard.address) == ("a long\nstory", thread(root.ts))


# The app's messages, and an agent's session.


async def test_who_opens_the_apps_messages_is_offered_prompts(adapter: SlackAdapter, platform: SlackPlatform) -> None:
    platform.open_app(tab="home")
    platform.say("next", channel=DIRECT)
    async with adapter.connect() as inbound:
        await anext(inbound)
        assert platform.surfaces.prompts == {}
        platform.open_app()

        async def listen() -> None:
            await anext(inbound)

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(listen)
            await platform.until(lambda: DIRECT in platform.surfaces.prompts)
            platform.say("next", channel=DIRECT)
    assert {"title": "stop", "message": "!stop"} in platform.surfaces.prompts[DIRECT]


CHANNEL_OPEN = {"type": "slack#/types/channel_id", "value": CHANNEL, "team_id": TEAM}
MESSAGE_OPEN = {"type": "slack#/types/message_context", "value": {"channel_id": CHANNEL, "message_ts": "1.2"}}


@pytest.mark.parametrize(
    ("entities", "words"),
    [
        ([CHANNEL_OPEN], "the channel #general"),
        (
            [
                MESSAGE_OPEN,
                CHANNEL_OPEN,
            ],
            "a message in the channel #general (1.2), the channel #general",
        ),
        ([CHANNEL_OPEN | {"value": "C0SECRET"}], "the channel #C0SECRET"),
        ([CHANNEL_OPEN | {"team_id": "T0OTHER"}], ""),
        ([{"type": "slack#/types/canvas_id", "value": "F1"}], "the canvas F1"),
        ([{"type": "slack#/types/new_thing", "value": 42}], ""),
        ([{"type": "slack#/types/channel_id", "value": DIRECT}], ""),
        ([{"strange": []}], ""),
        ([], ""),
    ],
)
async def test_what_a_person_looks_at_comes_with_their_message_in_words_whatever_form_it_has(
    adapter: SlackAdapter, platform: SlackPlatform, entities: list[dict[str, Any]], words: str
) -> None:
    async with adapter.connect() as inbound:
        platform.look_at(*entities)
        platform.say("sum this up", channel=DIRECT)
        said = await anext(inbound)
    assert (said.text, said.looking_at) == ("sum this up", words)


async def test_the_prompts_of_the_program_come_first(
    options: SlackOptions, clock: FakeClock, platform: SlackPlatform
) -> None:
    prompts = ["Order a cake", "What do you\nhave today? " + "x" * 100]
    platform.open_app()
    platform.say("next", channel=DIRECT)
    async with (
        aclosing(new_adapter(replace(options, prompts=prompts), clock=clock)) as adapter,
        adapter.connect() as inbound,
    ):
        await anext(inbound)
    [cake, have, *commands] = platform.surfaces.prompts[DIRECT]
    assert cake == {"title": "Order a cake", "message": "Order a cake"}
    assert (len(have["title"]), have["message"]) == (80, prompts[1])
    assert [one["message"][0] for one in commands] == ["!", "!"]


async def test_each_direct_message_begins_a_conversation_that_goes_on_in_its_thread(
    adapter: SlackAdapter, platform: SlackPlatform
) -> None:
    first = platform.say("What is the\nplan?", channel=DIRECT)
    second = platform.say("And who pays?", channel=DIRECT)
    platform.say("How much?", channel=DIRECT, thread=first)
    platform.rewrite(second, "Who pays?", channel=DIRECT)
    platform.react("eyes", second, channel=DIRECT)
    platform.say("last", channel=DIRECT)
    async with adapter.connect() as inbound:
        heard = [await anext(inbound) for _ in range(6)]
    assert [one.address.thread for one in heard[:5]] == [first, second, first, second, second]
    titles = {f"{DIRECT}/{first}": "What is the plan?", f"{DIRECT}/{second}": "And who pays?"}
    assert platform.surfaces.titles.items() >= titles.items()


async def test_a_command_outside_of_threads_is_about_the_conversation_where_one_spoke_last(
    adapter: SlackAdapter, platform: SlackPlatform
) -> None:
    early = platform.say("!status", channel=DIRECT)
    root = platform.say("write me a novel", channel=DIRECT)
    platform.say("!stop", channel=DIRECT)
    platform.command("status", channel=DIRECT)
    new = platform.say("!new write me a poem", channel=DIRECT)
    async with adapter.connect() as inbound:
        heard = [await anext(inbound) for _ in range(5)]
    assert [(one.command, one.address.thread) for one in heard] == [
        ("status", early),
        (None, root),
        ("stop", root),
        ("status", root),
        ("new", new),
    ]


async def test_direct_messages_are_one_conversation_where_that_is_set(
    options: SlackOptions, clock: FakeClock, platform: SlackPlatform
) -> None:
    root = platform.say("one", channel=DIRECT)
    platform.say("two", channel=DIRECT)
    platform.say("three", channel=DIRECT, thread=root)
    async with (
        aclosing(new_adapter(replace(options, direct_threads=False), clock=clock)) as adapter,
        adapter.connect() as inbound,
    ):
        heard = [await anext(inbound) for _ in range(3)]
    assert [one.address for one in heard] == [ADA, ADA, replace(ADA, thread=root)]


async def test_panel_of_an_app_of_before_gets_prompts_and_then_a_title(
    adapter: SlackAdapter, platform: SlackPlatform
) -> None:
    platform.surfaces.agent_view = False
    root = platform.open_assistant()
    platform.say("What is the\nplan?", channel=DIRECT, thread=root)
    platform.say("And then?", channel=DIRECT, thread=root)
    platform.say("next", channel=DIRECT)
    async with adapter.connect() as inbound:
        heard = [await anext(inbound) for _ in range(3)]
    place = f"{DIRECT}/{root}"
    assert (heard[0].address.thread, heard[0].private) == (root, True)
    assert {"title": "stop", "message": "!stop"} in platform.surfaces.prompts[place]
    assert platform.surfaces.titles[place] == "What is the plan?"
    titled = [call.params["thread_ts"] for call in platform.calls_of("assistant.threads.setTitle")]
    assert titled.count(root) == 1


async def test_agents_session_has_a_stop_button_while_it_works(adapter: SlackAdapter, platform: SlackPlatform) -> None:
    root = platform.mention("hello")
    place = f"{CHANNEL}/{root}"
    async with adapter.connect() as inbound:
        await anext(inbound)
        for _ in range(2):
            await adapter.typing(thread(root), HOST, doing="reads the file")
        assert platform.surfaces.sessions == {place: "processing"}
        assert platform.conversations.status(CHANNEL, root) == "reads the file"
        platform.stop(root, person=FRIEND)
        heard = await anext(inbound)
        platform.say("next", channel=DIRECT)
        await anext(inbound)
    assert (heard.command, heard.address, heard.person_name) == ("stop", thread(root), "Bob")
    assert platform.surfaces.sessions == {place: "active"}
    assert len(platform.calls_of("agents.sessions.setStatus")) == 2


async def test_session_rests_when_the_answer_is_there(adapter: SlackAdapter, platform: SlackPlatform) -> None:
    root = platform.mention("hello")
    await adapter.typing(thread(root), HOST)
    await send(adapter, "done", to=thread(root))
    assert platform.surfaces.sessions == {f"{CHANNEL}/{root}": "active"}


async def test_stop_button_stays_after_a_message_while_the_agent_goes_on_working(
    adapter: SlackAdapter, platform: SlackPlatform
) -> None:
    root = platform.say("hello", channel=DIRECT)
    to, place = replace(ADA, thread=root), f"{DIRECT}/{root}"
    adapter.works(to, HOST, True)
    await adapter.typing(to, HOST, doing="reads the file")
    for nonce in ("one", "two"):
        first = await adapter.open_stream(to, "It is", speaker=HOST, nonce=nonce)
        await adapter.close_stream(to, first, " so.", speaker=HOST)
        assert platform.surfaces.sessions == {place: "processing"}
    await adapter.send(to, "And so on.", speaker=HOST, nonce="three", final=True)
    last = await adapter.open_stream(to, "That", speaker=HOST, nonce="four")
    assert platform.surfaces.sessions == {place: "processing"}
    adapter.works(to, HOST, False)
    await adapter.close_stream(to, last, " is all.", speaker=HOST)
    assert platform.surfaces.sessions == {place: "active"}
    sent = [call.params.get("session_status") for call in platform.calls_of("chat.stopStream")]
    assert sent == ["processing", "processing", None]


async def test_stop_button_goes_when_the_work_ends_after_its_last_message(
    adapter: SlackAdapter, platform: SlackPlatform
) -> None:
    root = platform.say("hello", channel=DIRECT)
    to, place = replace(ADA, thread=root), f"{DIRECT}/{root}"
    for who in (HOST, Speaker("1001", "Guest")):
        adapter.works(to, who, True)
    await adapter.typing(to, HOST)
    message = await adapter.open_stream(to, "It is", speaker=HOST, nonce="one")
    await adapter.close_stream(to, message, " so.", speaker=HOST)
    adapter.works(to, HOST, False)
    await adapter.end_typing(to, HOST)
    assert platform.surfaces.sessions == {place: "processing"}
    adapter.works(to, Speaker("1001", "Guest"), False)
    await adapter.end_typing(to, Speaker("1001", "Guest"))
    assert platform.surfaces.sessions == {place: "active"}


async def test_app_that_is_no_agent_is_asked_once(adapter: SlackAdapter, platform: SlackPlatform) -> None:
    platform.is_agent = False
    root = platform.mention("hello")
    for nonce in ("one", "two"):
        await adapter.typing(thread(root), HOST)
        await send(adapter, "done", to=thread(root), nonce=nonce)
    assert len(platform.calls_of("agents.sessions.setStatus")) == 1
    assert len(platform.messages()) == 2


# Strangers. `admits` knows Bob only.


async def _only_bob(event: Inbound) -> str | None:
    return None if event.person_id.endswith(FRIEND) else f"not you: /{event.command}"


async def test_stranger_is_told_for_themselves_alone_and_nothing_is_posted(
    options: SlackOptions, platform: SlackPlatform, clock: FakeClock
) -> None:
    refused = [platform.command(text) for text in ("hello everybody", "new", "stop")]
    platform.command("hello", person=FRIEND)
    async with (
        aclosing(new_adapter(replace(options, admits=_only_bob), clock=clock)) as adapter,
        adapter.connect() as inbound,
    ):
        heard = await anext(inbound)
    assert (heard.text, heard.person_id) == ("hello", f"slack:{TEAM}:{FRIEND}")
    words = [platform.events.events[event_id].words for event_id in refused]
    assert [told and told["text"] for told in words] == ["not you: /None", "not you: /new", "not you: /stop"]
    assert {told and told["response_type"] for told in words} == {"ephemeral"}
    assert len(platform.messages()) == 1
    assert platform.surfaces.views == []


async def test_who_is_shut_out_while_writing_in_the_form_is_told_in_it(
    options: SlackOptions, platform: SlackPlatform, clock: FakeClock
) -> None:
    told = iter([None, "not any more"])

    async def admits(_: Inbound) -> str | None:
        return next(told)

    async with (
        aclosing(new_adapter(replace(options, admits=admits), clock=clock)) as adapter,
        adapter.connect() as inbound,
    ):
        platform.command("start")
        platform.say("first", channel=DIRECT)
        await anext(inbound)
        sent = platform.submit("a long story")
        platform.say("second", channel=DIRECT)
        assert (await anext(inbound)).text == "second"
        await platform.until(platform.events.events[sent].done.is_set)
    words = platform.events.events[sent].words
    assert words == {"response_action": "errors", "errors": {"text": "not any more"}}
    assert platform.messages() == []


async def test_forms_and_statuses_are_in_the_language_of_the_settings(
    options: SlackOptions, platform: SlackPlatform, clock: FakeClock, tmp_path: Path
) -> None:
    german = '[forms]\nnew = "Neues Gespräch"\nsend = "Senden"\n[doing]\nthinks = "überlegt …"\n'
    (tmp_path / "de.toml").write_text(german, encoding="utf-8")
    root = platform.mention("hello")
    platform.command("start")
    platform.say("next", channel=DIRECT)
    speaking = replace(options, texts=load_texts("de", tmp_path))
    async with aclosing(new_adapter(speaking, clock=clock)) as adapter, adapter.connect() as inbound:
        assert [(await anext(inbound)).text for _ in range(2)] == ["hello", "next"]
        await adapter.typing(thread(root), HOST)
    [view] = platform.surfaces.views
    assert (view["title"]["text"], view["submit"]["text"]) == ("Neues Gespräch", "Senden")
    assert [call.params["status"] for call in platform.calls_of("assistant.threads.setStatus")] == ["überlegt …"]


# Free answers.


async def test_free_answer_is_written_in_a_form_and_said_in_the_thread(
    adapter: SlackAdapter, platform: SlackPlatform
) -> None:
    assert adapter.capabilities.free_answers
    root = platform.mention("hello")
    async with adapter.connect() as inbound:
        await anext(inbound)
        ts = await send(adapter, "What is it about?", to=thread(root))
        free = [Choice("q1.free", "", free=True)]
        await adapter.offer(thread(root), ts, "What is it about?", free, speaker=HOST, nonce="page.0")
        [asked] = platform.messages()
        platform.press("Answer…", asked, person=FRIEND)
        platform.say("meanwhile", thread=root)
        assert (await anext(inbound)).text == "meanwhile"
        [view] = platform.surfaces.views
        assert view["callback_id"] == "parley_answer"
        sent = platform.submit("a long\n\nstory", person=FRIEND)
        heard = await anext(inbound)
        platform.say("next", thread=root)
        await anext(inbound)
    assert (heard.act, heard.text, heard.address, heard.addressed) == ("message", "a long\n\nstory", thread(root), True)
    assert (heard.person_id, heard.choice) == (f"slack:{TEAM}:{FRIEND}", "q1.free")
    shown = next(posted for posted in platform.messages() if posted.ts == heard.message_id)
    assert shown.thread_ts == root
    assert shown.shown == "*Bob*\na long\n\nstory"
    assert platform.events.events[sent].words in (None, {})


async def test_thread_of_a_form_and_of_a_choice_is_known_where_only_the_message_tells_it(
    adapter: SlackAdapter, platform: SlackPlatform
) -> None:
    root = platform.mention("hello")
    async with adapter.connect() as inbound:
        await anext(inbound)
        ts = await send(adapter, "What is it about?", to=thread(root))
        choices = [Choice("q1.0", "Yes"), Choice("q1.free", "Answer…", free=True)]
        await adapter.offer(thread(root), ts, "What is it about?", choices, speaker=HOST, nonce="page.0")
        platform.press("Yes", platform.messages()[0], contained=False)
        assert (await anext(inbound)).address == thread(root)
        platform.press("Answer…", platform.messages()[0], contained=False)
        platform.say("meanwhile", thread=root)
        await anext(inbound)
        platform.submit("a story")
        answer = await anext(inbound)
    assert (answer.address, answer.choice, answer.act) == (thread(root), "q1.free", "message")


async def test_answer_that_cannot_be_posted_stays_in_its_form(adapter: SlackAdapter, platform: SlackPlatform) -> None:
    async with adapter.connect() as inbound:
        ts = await send(adapter, "Why?")
        await adapter.offer(ADA, ts, "Why?", [Choice("q1.free", "", free=True)], speaker=HOST, nonce="page.0")
        platform.press("Answer…", platform.messages(DIRECT)[0], channel=DIRECT)
        platform.say("first", channel=DIRECT)
        await anext(inbound)
        platform.fail("chat.postMessage", "refuse", error="is_archived")
        sent = platform.submit("because")
        platform.say("second", channel=DIRECT)
        assert (await anext(inbound)).text == "second"
        await platform.until(platform.events.events[sent].done.is_set)
        words = platform.events.events[sent].words or {}
        assert "archived" in words["errors"]["text"]
        platform.submit("because")
        again = await anext(inbound)
    assert (again.text, again.address, again.private) == ("because", ADA, True)


async def test_stranger_gets_no_form_for_an_answer(
    options: SlackOptions, platform: SlackPlatform, clock: FakeClock
) -> None:
    async with (
        aclosing(new_adapter(replace(options, admits=_only_bob), clock=clock)) as adapter,
        adapter.connect() as inbound,
    ):
        root = platform.mention("hello")
        await anext(inbound)
        ts = await send(adapter, "Why?", to=thread(root))
        free = [Choice("q1.free", "", free=True)]
        await adapter.offer(thread(root), ts, "Why?", free, speaker=HOST, nonce="page.0")
        platform.press("Answer…", platform.messages()[0], person=PERSON)
        platform.say("next", channel=DIRECT)
        await anext(inbound)
    assert platform.surfaces.views == []
