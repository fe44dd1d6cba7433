# House
Does what its first word says, and counts what it was told.

```python
import asyncio
import re


async def written(text, pause_s=0.03):
    """The text word by word."""
    for word in re.findall(r"\S+\s*", text):
        yield word
        await asyncio.sleep(pause_s)


@playbook(triggers=["When program starts"])
async def Open():
    """Begins to count."""
    await Var("count", 0)
    await Say("user", "The house is open.")
    await Serve()


@playbook
async def Serve():
    """Does one thing after the other, again and again."""
    for message in await WaitForMessage("user"):
        number = variables["count"] + 1
        await Var("count", number)
        word, _, rest = message["text"].partition(" ")
        if word == "bye":
            await Say("user", f"{number}. Goodbye, {rest}.")
            await EndProgram()
            return None
        await Do(number=number, word=word, rest=rest)
    return Again()


@playbook
async def Do(number, word, rest):
    """One thing."""
    if word == "story":
        words = " ".join(f"word {each} of {rest}," for each in range(1, 13))
        await Say("user", written(f"{number}. Once upon a time there was {words} and that was it."))
    elif word == "sleep":
        await Say("user", f"{number}. Good night, {rest}.")
        await Sleep(1)
        await Say("user", f"{number}. Good morning, {rest}.")
    elif word == "wait":
        came = await WaitForMessage("user", 1)
        await Say("user", f"{number}. Nobody came for {rest}." if came is None else f"{number}. Somebody came.")
    elif word == "ask":
        answer = await Ask(f"{number}. Shall we ship {rest}?", ["Yes", "No"])
        await Say("user", f"{number}. {answer}, said of {rest}.")
    elif word == "meet":
        choice = await Council(topic=rest)
        await Say("user", f"{number}. The council says {choice}.")
    elif word == "watch":
        await Var("level", number + 10)
        await Var("level", 0)
        await Say("user", f"{number}. Watched {rest}.")
    elif word == "other":
        one, two = await asyncio.gather(Porter.Count(topic=rest), Weigh(topic=rest))
        await Say("user", f"{number}. There are {one} of {rest}, they weigh {two}.")
    elif word == "file":
        await SendFile(f"{rest}.txt", f"This is {rest}.", f"{number}. Here is {rest}.")
    else:
        await Say("user", f"{number}. I heard {rest}.")


@playbook(triggers=["When $level > 10"])
async def Alarm():
    """Is triggered by a variable."""
    await Say("user", f"The level is {variables['level']}.")


@playbook
async def Weigh(topic):
    """A number that needs nobody."""
    await Sleep(0.2)
    return 3 * len(topic)


@playbook(meeting=True, required_attendees=["Porter"])
async def Council(topic):
    """Asks the porter in a meeting."""
    await Say("meeting", f"What do you say about {topic}?")
    while True:
        for message in await WaitForMessage("meeting"):
            found = re.search(r"it is (\w+)", message["text"])
            if found and message["sender"] != "human":
                return found[1]
```

# Porter
Carries and counts.

```python
import re


@playbook(public=True)
async def Count(topic):
    """How many there are."""
    await Say("user", f"I count {topic}.")
    return len(topic)


@playbook(meeting=True)
async def Advise():
    """Answers what the meeting asks."""
    while True:
        for message in await WaitForMessage("meeting"):
            if message["text"] == "Meeting has ended":
                return
            found = re.search(r"say about (\w+)", message["text"])
            if found:
                await Say("meeting", f"I say it is {found[1]}.")
```
