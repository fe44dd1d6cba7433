"""What an agent reads of a message: who said it, what it answers, and what became of it."""

from __future__ import annotations

from runtime.core.message import Message, MessageType

_QUOTED_CHARS = 300


def heard_content(message: Message) -> str:
    """What was said or done, without who: a quote stands before its answer as `> author: text`."""
    match message.type:
        case MessageType.EDITED:
            return f"changed what they said from {_said(message.before or '')} to {_said(message.content)}"
        case MessageType.DELETED:
            return f"took back what they said: {_said(message.content)}"
        case MessageType.REACTION:
            quoted = _said(message.quote.text if message.quote else "")
            return f"put {message.content} on {quoted}" if message.content else f"took their mark off {quoted}"
    if message.quote is None:
        return message.content
    lines = _shortened(f"{message.quote.author}: {message.quote.text}").splitlines()
    return "\n".join([*(f"> {line}" for line in lines), message.content])


def heard_line(message: Message, *, while_working: bool = False) -> str:
    """A message as a model is told of it, without its files."""
    where = f" in meeting {message.meeting_id}" if message.meeting_id else ""
    if message.from_human:
        who = message.sender_name or "user"
        who = who if who == "user" else f"{who} (user)"
    else:
        who = f"{message.sender_class} (agent {message.sender_id})"
    content = heard_content(message)
    if message.type in (MessageType.EDITED, MessageType.DELETED, MessageType.REACTION):
        return f"{who}{where} {content}"
    if while_working:
        return f"While you were working, {who}{where} said: {content}"
    between = "\n" if message.quote is not None else " "
    return f"Message from {who}{where}:{between}{content}"


def _said(text: str) -> str:
    return f'"{_shortened(text)}"'


def _shortened(text: str) -> str:
    return text if len(text) <= _QUOTED_CHARS else text[: _QUOTED_CHARS - 1] + "…"
