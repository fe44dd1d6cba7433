---
title: A tour of Parley
---

# Guide
Shows newcomers around. Everything here is written in Python, so the tour needs no language model.

````python
import asyncio
import re

MENU = """\
Write one of these words:

- **streaming** – watch an answer grow while it is written
- **channels** – I ask another agent something, and you hear what it says
- **meeting** – three agents settle a question in front of you
- **people** – who is here (open a second browser window and choose another name)
- **counting** – I count slowly; kill the gateway in the middle and start it again
- **bye** – the tour ends"""

STORY = """\
### A page that grows

A *stream* has a start, chunks and an end. What you see here arrives word by word, and the gateway shows it as \
fresh as the platform allows: on a web page at once, elsewhere by edits or the platform's own streams.

```python
async def greet(name: str) -> None:
    await Say("user", f"Hello, {name}!")
```

| platform | how text becomes live |
| --- | --- |
| web | every chunk |
| Slack | pieces of a stream, within its limits |
| Telegram, Discord | edits of one message, within their limits |

When the last word is there, the text is final, and it is on the agent's tape."""


async def written(text, pause_s=0.025):
    """The text word by word, as a model would write it."""
    for word in re.findall(r"\S+\s*|\s+", text):
        yield word
        await asyncio.sleep(pause_s)


@playbook(triggers=["When program starts"])
async def Welcome():
    """Greets, then shows one thing after the other."""
    await Say("user", written("Hello! I am the **Guide**, one of four agents that live in this conversation.\n\n" + MENU))
    await Show()
    await Say("user", "That was the tour. Write again to start over. 👋")
    await EndProgram()


async def chosen(message):
    """Shows what a message asks for; True at the end of the tour."""
    word = message["text"].strip().lower().strip(".!?*/ ")
    if word == "streaming":
        await Say("user", written(STORY))
    elif word == "channels":
        await Channels()
    elif word == "meeting":
        choice = await NameTheBoat(topic="a name for a boat")
        await Say("user", f"The meeting is over. They chose **{choice}**.")
    elif word == "people":
        await People(name=message["name"])
    elif word == "counting":
        await Count()
    elif word in ("bye", "exit", "quit"):
        return True
    else:
        heard = " ".join(message["text"].replace("`", "").split())[:200]
        await Say("user", f"I heard “{heard}”, {message['name']}, but I am only a guide.\n\n{MENU}")
    return False


@playbook
async def Show():
    """Waits for a word and shows what it names, again and again."""
    for message in await WaitForMessage("user"):
        if await chosen(message):
            return "bye"
    return Again()


@playbook
async def Channels():
    """Calls another agent's public playbook."""
    await Say("user", "I ask the Librarian how many books there are about the sea …")
    answer = await Librarian.CountBooks(topic="the sea")
    await Say("user", f"The Librarian looked it up and told you too. I got the number as a value: **{answer}**.")


@playbook
async def People(name):
    """Greets everybody who has spoken so far, in the order in which they came."""
    known = [other for other in variables.get("known", []) if other != name]
    await Var("known", [*known, name])
    if known:
        await Say("user", f"Hello, {name}! With you here: {', '.join(known)}.")
    else:
        await Say("user", f"So far I know only you, {name}. When somebody else writes **people**, I greet you both.")


@playbook
async def Count():
    """Counts with a pause that survives a restart."""
    for number in range(1, 11):
        await Say("user", f"{number} …")
        await Sleep(1)
    await Say("user", "Ten. If I was killed on the way, you did not see a number twice, and none is missing.")


@playbook(meeting=True, required_attendees=["Painter", "Poet"])
async def NameTheBoat(topic):
    """Asks the others for ideas in a meeting, and takes the shorter one."""
    await Say("meeting", f"Welcome! We need {topic}. Painter, Poet: what do you suggest?")
    ideas = []
    while len(ideas) < 2:
        for message in await WaitForMessage("meeting"):
            found = re.search(r"\*\*(.+?)\*\*", message["text"])
            if found and message["sender"] != "human":
                ideas.append(found[1])
    choice = min(ideas, key=len)
    await Say("meeting", f"Thank you both. It shall be {choice}.")
    return choice
````

# Librarian
Knows the books.

```python
SHELVES = {"the sea": 42, "gardens": 17}


@playbook(public=True)
async def CountBooks(topic):
    """How many books there are about a topic."""
    number = SHELVES.get(topic, 0)
    await Say("user", f"📚 About {topic} there are {number} books on my shelves.")
    return number
```

# Painter
Likes colours.

```python
@playbook(meeting=True)
async def Suggest():
    """Suggests a name as soon as the meeting asks for one."""
    while True:
        for message in await WaitForMessage("meeting"):
            if message["text"] == "Meeting has ended":
                return
            if "suggest" in message["text"]:
                await Say("meeting", "Poet, Guide: I see a deep colour, **Ultramarine**.")
```

# Poet
Likes words.

```python
@playbook(meeting=True)
async def Suggest():
    """Suggests a name after the painter has."""
    while True:
        for message in await WaitForMessage("meeting"):
            if message["text"] == "Meeting has ended":
                return
            if "colour" in message["text"]:
                await Say("meeting", "And I hear the wind, dear Guide: **Gull**.")
```
