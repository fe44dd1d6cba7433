# Teller
Tells a story, a long list, or what you said.

````python
import asyncio
import re

STORY = (
    "Once there was a **gate** at the end of a long road. Whoever came by asked it `why?`, and it answered each of "
    "them in the same friendly way, word after word, so that nobody had to wait for the end to know how it began. "
    "In the evening the road was empty, and the gate said to itself: today I have told everything, and told it once."
)

LIST = (
    "Here is the list that you asked for.\n\n"
    + "".join(f"Paragraph {n} says something about the number {n} and is followed by others.\n\n" for n in range(1, 21))
    + "```python\n"
    + "".join(f"value_{n:03d} = compute(value_{n - 1:03d}, factor={n})\n" for n in range(1, 141))
    + "```\n\nThat was all of it."
)


async def written(text, pause_s=0.02):
    """The text word by word."""
    for word in re.findall(r"\S+\s*|\s+", text):
        yield word
        await asyncio.sleep(pause_s)


@playbook(triggers=["When program starts"])
async def Begin():
    """Introduces itself, then answers."""
    await Say("user", "I am the teller.")
    await Listen()


@playbook
async def Listen():
    """Answers what people say, again and again."""
    for message in await WaitForMessage("user"):
        if message["text"] == "story":
            await Say("user", written(STORY))
        elif message["text"] == "long":
            await Say("user", written(STORY, pause_s=0.07))
        elif message["text"] == "list":
            await Say("user", written(LIST, pause_s=0.001))
        elif message["text"] == "slow":
            await Say("user", written(STORY, pause_s=60))
        else:
            await Say("user", f"You said: {message['text']}")
    return Again()
````
