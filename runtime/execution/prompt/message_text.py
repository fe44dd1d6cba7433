"""A message as an agent reads it: its author, the message it answers, and later changes."""

from __future__ import annotations

import re

from runtime.core.message import Message, MessageType

_QUOTED_CHARS = 300

_OURS = re.compile(
    r"^(?=[^\S\n]*(?:"
    r"(?:Message from|Notice in meeting|Reminder that you set|While you were working)\b"
    r"|(?:You execute|You are invited|Your reply)\b|\(From the program\b"
    r"|(?:Known|Call stack|Arguments|Variables|Locals|Other agents|People here|Files people sent):"
    r"|Meeting \d+ \(|Invited to meeting \d+:|Shared state of meeting \d+:"
    r"|[^\n]{1,80} \((?:user|agent [^)\n]*)\)))",
    re.MULTILINE,
)
"""The start of a line that the model could take for one of ours."""


def heard_content(message: Message) -> str:
    """The content of a message without its author: what they had open, then a quote as `> author: text`, precede it."""
    content = _theirs(message.content) if message.from_human else message.content
    match message.type:
        case MessageType.EDITED:
            return _change(_theirs(message.before or ""), content)
        case MessageType.DELETED:
            return f"took back what they said: {_said(content)}"
        case MessageType.REACTION:
            quoted = _said(message.quote.text if message.quote else "")
            return f"put {content} on {quoted}" if content else f"took their mark off {quoted}"
    lines = [f"(looking at {_theirs(' '.join(message.looking_at.split()))})"] if message.looking_at else []
    if message.quote is not None:
        quoted = _shortened(f"{message.quote.author}: {message.quote.text}")
        lines += [f"> {line}" for line in quoted.splitlines()]
    return "\n".join([*lines, content])


def heard_line(message: Message, *, while_working: bool = False) -> str:
    """A message worded for a model, without its files."""
    where = f" in meeting {message.meeting_id}" if message.meeting_id else ""
    if message.type == MessageType.TRIGGER:
        return f"It is time: {message.content}"
    if message.type == MessageType.REMINDER:
        return f"Reminder that you set: {message.content}"
    if message.type == MessageType.MEETING_NOTICE:
        return f"Notice in meeting {message.meeting_id}: {message.content}"
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
    between = "\n" if message.quote is not None or message.looking_at else " "
    return f"Message from {who}{where}:{between}{content}"


def _change(before: str, content: str) -> str:
    """What is new of a changed message: the new words in full, or else its files, which follow."""
    if before == content:
        return f"changed the files of what they said: {_said(content)}" if content else "changed what they sent:"
    return f'changed what they said from {_said(before)} to "{content}"'


def _theirs(text: str) -> str:
    """A person's text, in which no line can pose as the start of another message or as a fact of ours."""
    return _OURS.sub("| ", text)


def _said(text: str) -> str:
    return f'"{_shortened(text)}"'


def _shortened(text: str) -> str:
    return text if len(text) <= _QUOTED_CHARS else text[: _QUOTED_CHARS - 1] + "…"
