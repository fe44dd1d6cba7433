"""What Slack takes as the content of a message, and whom it pings."""

import re
from collections.abc import Mapping
from typing import Any

from tests.fakes.slack.refusal import Refusal

MAX_POST_CHARS = 40_000
MAX_UPDATE_BYTES = 4_000
MAX_MARKDOWN_CHARS = 12_000
MAX_SECTION_CHARS = 3_000
MAX_BLOCKS = 50
MAX_ACTIONS = 25
MAX_BUTTON_CHARS = 75
MAX_CONTEXT_ACTIONS = 5
MAX_VALUE_CHARS = 2_000
MAX_TABLE_ROWS = 100
MAX_TABLE_COLUMNS = 20
MAX_TABLE_CHARS = 10_000

_EXPLICIT = re.compile(r"<(!(?:here|channel|everyone)|@[UW][A-Z0-9]+|!subteam\^\w+)(?:\|[^>]*)?>")
_TYPED = re.compile(r"(?<![\w<])@(?:here|channel|everyone)\b")


def units(text: str) -> int:
    """UTF-16 code units."""
    return len(text.encode("utf-16-le", "surrogatepass")) // 2


def content(params: Mapping[str, Any], *, update: bool) -> tuple[str, list[dict[str, Any]]]:
    """The text and the blocks of a message, or the refusal of it."""
    text, blocks, markdown = params.get("text") or "", params.get("blocks") or [], params.get("markdown_text")
    if markdown is not None:
        if text or blocks:
            raise Refusal("markdown_text_conflict")
        if len(markdown) > MAX_MARKDOWN_CHARS:
            raise Refusal("msg_too_long")
        return markdown, []
    if not text.strip() and not blocks:
        raise Refusal("no_text")
    if update and len(text.encode()) > MAX_UPDATE_BYTES:
        raise Refusal("msg_too_long")
    check_blocks(blocks)
    return text[:MAX_POST_CHARS], blocks


def pings(params: Mapping[str, Any], *, update: bool) -> list[str]:
    """Who is notified: what is referred to, and typed names too where `parse` lets Slack look for them."""
    sections = [block.get("text", {}) for block in params.get("blocks") or [] if "text" in block]
    texts = [section.get("text", "") for section in sections] or [params.get("text") or ""]
    found = [name for text in texts for name in _EXPLICIT.findall(text)]
    cells = [cell for block in params.get("blocks") or [] for row in block.get("rows", ()) for cell in row]
    pieces = [piece for cell in cells if cell["type"] == "rich_text" for piece in _rich_pieces(cell)]
    found += [f"@{piece['user_id']}" for piece in pieces if piece["type"] == "user"]
    default = "client" if update else "none"
    looks = params.get("parse", default) != "none" and not sections
    loose = [section["text"] for section in sections if not section.get("verbatim")]
    for text in texts if looks else loose:
        found += _TYPED.findall(text)
    return found


def markdown_pings(text: str) -> list[str]:
    """Who is notified by markdown_text, taken as loosely as can be."""
    return _EXPLICIT.findall(text) + _TYPED.findall(text)


def check_blocks(blocks: Any) -> None:
    if not isinstance(blocks, list):
        raise Refusal("invalid_blocks_format")
    if len(blocks) > MAX_BLOCKS:
        raise Refusal("invalid_blocks")
    _check_tables([block for block in blocks if block.get("type") == "table"])
    for block in blocks:
        text = block.get("text", {}).get("text", "")
        if block.get("type") == "actions":
            _check_buttons(block["elements"])
        if block.get("type") == "task_card":
            _check_card(block)
        if block.get("type") == "plan":
            _check_plan(block, blocks)
        if block.get("type") == "context_actions":
            _check_thumbs(block["elements"])
        if block.get("type") == "section" and not 1 <= units(text) <= MAX_SECTION_CHARS:
            raise Refusal("invalid_blocks")


def _check_tables(tables: Any) -> None:
    """One table in a message; its cells have something in them (Block Kit reference, table block)."""
    if len(tables) > 1:
        raise Refusal("only_one_table_allowed")
    chars = 0
    for row in (row for table in tables for row in table["rows"]):
        if not 1 <= len(row) <= MAX_TABLE_COLUMNS:
            raise Refusal("invalid_blocks")
        for cell in row:
            pieces = [cell] if cell["type"] == "raw_text" else _rich_pieces(cell)
            chars += sum(len(piece.get("text", "")) for piece in pieces)
            empty = any(piece["type"] in ("text", "raw_text") and not piece["text"] for piece in pieces)
            if not pieces or empty or any(piece["type"] == "link" and not piece.get("url") for piece in pieces):
                raise Refusal("invalid_blocks")
    for table in tables:
        settings = table.get("column_settings", [])
        aligned = all(one.get("align", "left") in ("left", "center", "right") for one in settings)
        if not 1 <= len(table["rows"]) <= MAX_TABLE_ROWS or len(settings) > MAX_TABLE_COLUMNS or not aligned:
            raise Refusal("invalid_blocks")
    if chars > MAX_TABLE_CHARS:
        raise Refusal("invalid_blocks")


def _rich_pieces(cell: Any) -> list[Any]:
    if cell["type"] != "rich_text":
        raise Refusal("invalid_blocks")
    return [piece for part in cell["elements"] for piece in part["elements"]]


def rows_of(table: Any) -> str:
    """What people read in a table: its rows as lines, its cells between bars."""
    return "\n".join(
        " | ".join(
            cell["text"]
            if cell["type"] == "raw_text"
            else "".join(piece.get("text") or f"<@{piece.get('user_id')}>" for piece in _rich_pieces(cell))
            for cell in row
        )
        for row in table["rows"]
    )


def _check_card(block: Any) -> None:
    """A task card (Block Kit reference)."""
    known = block.get("status", "pending") in ("pending", "in_progress", "complete", "error")
    if not block.get("task_id") or not block.get("title") or not known:
        raise Refusal("invalid_blocks")


def _check_plan(block: Any, blocks: Any) -> None:
    """A plan of task cards, each with an id of its own (Block Kit reference); beside it stand no cards."""
    tasks = block.get("tasks", [])
    for task in tasks:
        if task.get("type") != "task_card":
            raise Refusal("invalid_blocks")
        _check_card(task)
    ids = {task["task_id"] for task in tasks}
    beside = any(other.get("type") == "task_card" for other in blocks)
    unknown = set(block) - {"type", "title", "tasks", "block_id"}
    if not isinstance(block.get("title"), str) or not block["title"] or len(ids) != len(tasks) or beside or unknown:
        raise Refusal("invalid_blocks")


def _check_thumbs(elements: Any) -> None:
    """Context actions with feedback buttons (Block Kit reference)."""
    if not 1 <= len(elements) <= MAX_CONTEXT_ACTIONS:
        raise Refusal("invalid_blocks")
    for element in elements:
        if element.get("type") not in ("feedback_buttons", "icon_button"):
            raise Refusal("invalid_blocks")
        for button in (element["positive_button"], element["negative_button"]):
            text, label = button["text"], button.get("accessibility_label", "")
            fits = len(text["text"]) <= MAX_BUTTON_CHARS and len(label) <= MAX_BUTTON_CHARS
            if text["type"] != "plain_text" or not fits or not 1 <= len(button["value"]) <= MAX_VALUE_CHARS:
                raise Refusal("invalid_blocks")


def _check_buttons(buttons: Any) -> None:
    ids = [button["action_id"] for button in buttons]
    long = any(len(button["text"]["text"]) > MAX_BUTTON_CHARS for button in buttons)
    if not 1 <= len(buttons) <= MAX_ACTIONS or len(set(ids)) != len(ids) or long:
        raise Refusal("invalid_blocks")
