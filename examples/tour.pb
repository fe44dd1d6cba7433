---
title: A tour of Parley
---

# Guide
Shows newcomers around. Nothing here needs a language model: the Baker's steps are exact, the others are Python.

````python
import asyncio
import re

OPTIONS = ["Program", "Meeting", "Channels", "Streaming", "People", "Counting", "Your own", "Bye"]
MENU = """\
Press a button, or write its word:

- **Program** – order at a bakery, and watch its program run: it is written in English
- **Meeting** – three agents settle a question in front of you
- **Channels** – I ask another agent something, and you hear what it says
- **Streaming** – watch an answer grow while it is written
- **People** – who is here (open a second browser window and choose another name)
- **Counting** – I count slowly; stop Parley in the middle and start it again
- **Your own** – how you make a program yourself
- **Bye** – the tour ends"""

STORY = """\
### A page that grows

What you see here arrives word by word, and Parley shows it as \
fast as the platform allows: on a web page at once, elsewhere by edits or the platform's own streams.

```python
async def greet(name: str) -> None:
    await Say("user", f"Hello, {name}!")
```

| platform | how text becomes live |
| --- | --- |
| web | every piece as it comes |
| Slack | pieces of a stream, within its limits |
| Telegram, Discord | edits of one message, within their limits |

When the last word is there, the text is final, and it is kept."""

OWN = """\
A program is a file of sentences like the Baker's. These lines, in a terminal, write a folder with one that works, and \
open it beside a chat. With a language model, leave out `--model scripted`. Outside of a checkout of Parley, leave out \
`.venv/bin/`.

```sh
.venv/bin/parley new game --template game
.venv/bin/parley dev game --open --model scripted
```

Change a sentence and save it: the next answer follows it."""


async def written(text, pause_s=0.025):
    """The text word by word, as a model would write it."""
    for word in re.findall(r"\S+\s*|\s+", text):
        yield word
        await asyncio.sleep(pause_s)


@playbook(triggers=["When program starts"])
async def Welcome():
    """Greets, then shows one thing after the other."""
    await Say("user", written("Hello! I am the **Guide**, one of five agents that live in this conversation.\n\n" + MENU))
    await Show()
    await Say("user", "That was the tour. Write again to start over. 👋")
    await EndProgram()


@playbook
async def Show():
    """Shows what people choose, until they have seen enough. What they wrote meanwhile comes first."""
    while messages := await WaitForMessage("user", 0):
        for message in messages:
            if await chosen(message["text"]):
                return "bye"
    if await chosen(await Ask("What would you like to see?", OPTIONS)):
        return "bye"
    return Again()


async def chosen(text):
    """Shows what a text asks for; True at the end of the tour."""
    word = text.strip().lower().strip(".!?*/ ")
    if word == "program":
        total = await Baker.Order()
        await Say("user", f"I got what the Baker's program returned, as a value: **{total}**.")
    elif word == "streaming":
        await Say("user", written(STORY))
    elif word == "channels":
        await Channels()
    elif word == "meeting":
        choice = await NameTheBoat(topic="a name for a boat")
        await Say("user", f"The meeting is over. They chose **{choice}**.")
    elif word == "people":
        await People()
    elif word == "counting":
        await Count()
    elif word == "your own":
        await Say("user", OWN)
    elif word in ("bye", "exit", "quit"):
        return True
    else:
        await Say("user", "I am only a guide: choose one of these.")
    return False


@playbook
async def Channels():
    """Calls another agent's public playbook."""
    await Say("user", "I ask the Librarian how many books there are about the sea …")
    answer = await Librarian.CountBooks(topic="the sea")
    await Say("user", f"The Librarian looked it up and told you too. I got the number as a value: **{answer}**.")


@playbook
async def People():
    """Greets whoever writes next, and names those who were greeted before."""
    await Say("user", "Who is here? Write anything.")
    name = (await WaitForMessage("user"))[-1]["name"]
    known = [other for other in variables.get("known", []) if other != name]
    await Var("known", [*known, name])
    if known:
        await Say("user", f"Hello, {name}! With you here: {', '.join(known)}.")
    else:
        await Say("user", f"So far only you have answered this, {name}. When somebody else does, I greet you both.")


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

# Baker
Sells what is still warm.

## Order
public: true
### Steps
- Say "Good morning! Where my program stands beside the chat, the line that runs is marked."
- Set $total to 0
- Set $more to "Yes"
- While $more is "Yes"
  - Ask "A croissant for 2 €, or an apple pie for 4 €?" with the options "Croissant" and "Apple pie", and save the answer in $cake
  - If $cake is "Apple pie"
    - Add 4 to $total
  - Otherwise
    - Add 2 to $total
  - Ask "Anything else?" with the options "Yes" and "No", and save the answer in $more
- Say "That makes {$total} €. One moment, it is in the oven …"
- Sleep for 2 seconds
- Say "🥐 Here you are. Enjoy it!"
- Return $total

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
