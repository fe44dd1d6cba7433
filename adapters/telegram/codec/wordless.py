"""Content of messages that is no plain text and no file, as text: one line, or a rich message (Bot API 10.1)."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

from adapters.telegram.codec.addresses import Json

UNSEEN: Final = "which bots cannot see"

SERVICES: Final = frozenset(
    {"new_chat_members", "left_chat_member", "new_chat_title", "new_chat_photo", "delete_chat_photo"}
    | {"group_chat_created", "supergroup_chat_created", "channel_chat_created", "chat_background_set"}
    | {"chat_owner_changed", "chat_owner_left", "community_chat_added", "community_chat_removed"}
    | {"message_auto_delete_timer_changed", "migrate_to_chat_id", "migrate_from_chat_id", "pinned_message"}
    | {"forum_topic_created", "forum_topic_edited", "forum_topic_closed", "forum_topic_reopened"}
    | {"general_forum_topic_hidden", "general_forum_topic_unhidden", "boost_added", "proximity_alert_triggered"}
    | {"video_chat_scheduled", "video_chat_started", "video_chat_ended", "video_chat_participants_invited"}
    | {"giveaway_created", "giveaway_completed", "gift_upgrade_sent", "poll_option_added", "poll_option_deleted"}
    | {"suggested_post_approved", "suggested_post_approval_failed", "suggested_post_declined", "suggested_post_paid"}
    | {"suggested_post_refunded", "paid_message_price_changed", "direct_message_price_changed"}
    | {"successful_payment", "refunded_payment", "users_shared", "chat_shared", "web_app_data", "passport_data"}
    | {"connected_website", "write_access_allowed", "managed_bot_created"}
)
_SILENT = ("divider", "anchor", "thinking")


def wordless_of(message: Json) -> str:
    """The line for what a message has beside text and files, and its buttons that open an address; "" for none."""
    told = next((line(message[kind]) for kind, line in _LINES.items() if kind in message), "")
    buttons = (button for row in message.get("reply_markup", {}).get("inline_keyboard", ()) for button in row)
    links = (f"[{button['text']}]({button['url']})" for button in buttons if "url" in button)
    return "\n".join(filter(None, (told, *links)))


def _point(location: Json) -> str:
    return f"{location['latitude']}, {location['longitude']}"


def _contact(contact: Json) -> str:
    name = " ".join(filter(None, (contact.get("first_name"), contact.get("last_name"))))
    return f"[contact {name}, {contact['phone_number']}]"


def _poll(poll: Json) -> str:
    options = ", ".join(f"{option['text']} ({option.get('voter_count', 0)})" for option in poll["options"])
    return f"[poll “{poll['question']}”{_quoted(poll.get('description'))}: {options}]"


def _checklist(checklist: Json) -> str:
    done = ("completion_date", "completed_by_user", "completed_by_chat")
    tasks = (f"{'☑' if any(map(task.get, done)) else '☐'} {task['text']}" for task in checklist["tasks"])
    return f"[checklist “{checklist['title']}”: {', '.join(tasks)}]"


def _story(story: Json) -> str:
    chat = story.get("chat", {})
    name = chat.get("title") or " ".join(filter(None, (chat.get("first_name"), chat.get("last_name"))))
    return f"[story{f' of {name}' if name else ''}, {UNSEEN}]"


def _tasks_done(changed: Json) -> str:
    """Telegram names tasks by numbers, and has their texts where it still has the checklist."""
    known = changed.get("checklist_message", {}).get("checklist", {}).get("tasks", ())
    names = {task["id"]: task["text"] for task in known}
    told = (
        (what, ", ".join(names.get(task, f"task {task}") for task in changed.get(key) or ()))
        for what, key in (("done", "marked_as_done_task_ids"), ("not done", "marked_as_not_done_task_ids"))
    )
    return f"[on a checklist, {'; '.join(f'{what}: {tasks}' for what, tasks in told if tasks)}]"


def _quoted(text: str | None) -> str:
    return f" “{text}”" if text else ""


def is_service(message: Json) -> bool:
    """Whether a message only reports a change of the chat, and nobody says anything in it."""
    return not SERVICES.isdisjoint(message)


_LINES: Final[Mapping[str, Callable[[Json], str]]] = {
    "venue": lambda venue: f"[venue {venue['title']}, {venue['address']}, {_point(venue['location'])}]",
    "location": lambda place: f"[{'live ' if 'live_period' in place else ''}location {_point(place)}]",
    "contact": _contact,
    "poll": _poll,
    "dice": lambda dice: f"[{dice['emoji']} {dice['value']}]",
    "checklist": _checklist,
    "story": _story,
    "paid_media": lambda paid: f"[paid media for {paid['star_count']} stars, {UNSEEN}]",
    "game": lambda game: f"[game “{game['title']}”]",
    "invoice": lambda invoice: f"[invoice “{invoice['title']}”]",
    "gift": lambda info: f"[gift worth {info['gift']['star_count']} stars{_quoted(info.get('text'))}]",
    "unique_gift": lambda info: f"[gift {info['gift']['base_name']} #{info['gift']['number']}]",
    "checklist_tasks_added": lambda added: (
        f"[added to a checklist: {', '.join(one['text'] for one in added['tasks'])}]"
    ),
    "checklist_tasks_done": _tasks_done,
    "giveaway": lambda _: "[giveaway]",
    "giveaway_winners": lambda _: "[winners of a giveaway]",
    "sticker": lambda sticker: f"[sticker {sticker.get('emoji') or ''}".rstrip() + "]",
}
"""By the message's field. A venue has its location as a field too."""


def rich_text_of(message: Mapping[str, Any]) -> str:
    return "\n".join(_blocks((message.get("rich_message") or {}).get("blocks")))


def blocks_in(holder: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    """The blocks of a message, or of one of its blocks."""
    for block in (holder.get("rich_message") or holder).get("blocks") or ():
        yield block
        yield from blocks_in(block)
        for item in block.get("items") or ():
            yield from blocks_in(item)


def _blocks(blocks: Any) -> Iterator[str]:
    for block in blocks or ():
        yield from _block(block)


def _block(block: Mapping[str, Any]) -> Iterator[str]:
    """The lines of one block: by the fields that blocks of many types have in common."""
    match block.get("type"):
        case "preformatted" | "pre":
            yield f"```{block.get('language') or ''}\n{_inline(block.get('text'))}\n```"
        case "table":
            for row in block.get("cells") or ():
                yield "| " + " | ".join(_inline(cell.get("text")) for cell in row) + " |"
        case "buttons":
            yield from (_inline(button) for button in block.get("buttons") or () if button.get("url"))
        case "list":
            for item in block.get("items") or ():
                first, *rest = [*_blocks(item.get("blocks"))] or [_inline(item.get("text"))]
                yield f"- {first}"
                yield from (f"  {line}" for line in rest)
        case _:
            lines = [line for field in ("summary", "text", "expression") if (line := _inline(block.get(field)))]
            lines += _blocks(block.get("blocks"))
            yield from lines or (
                [] if block.get("type") in _SILENT else [f"[{str(block.get('type')).replace('_', ' ')}]"]
            )
    caption = block.get("caption")
    if line := _inline(caption.get("text") if isinstance(caption, Mapping) else caption):
        yield line


def _inline(text: Any) -> str:
    """Rich text: a string, several pieces, or a piece with a format."""
    if isinstance(text, str):
        return text
    if isinstance(text, Mapping):
        inner = _inline(next(filter(None, map(text.get, ("text", "expression", "alternative_text", "button"))), ""))
        url = text.get("url")
        return f"[{inner}]({url})" if url and url != inner else inner
    return "".join(map(_inline, text or ()))
