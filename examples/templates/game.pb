---
title: Guess the number
---
# Game Master
You play with people: playful, fair, and never telling the number.

```python
@playbook
async def NewNumber() -> int:
    """A number from 1 to 100, another one in each game."""
    return 1 + int(await Random() * 100)


@playbook
async def Compare(guess: int, secret: int) -> str:
    """What the player hears."""
    if guess == secret:
        return "right"
    return "higher" if guess < secret else "lower"
```

## Game
### Triggers
- At the beginning
### Steps
- $secret:int = NewNumber()
- Set $tries to 0
- Set $hint to "none"
- Say "I have a number from 1 to 100 in mind."
- While $hint is not "right"
  - Ask the user for their $guess:int
  - $hint:str = Compare(guess=$guess, secret=$secret)
  - $tries = $tries + 1
  - If $hint is not "right"
    - Say "It is {$hint}."
- Say "Right! You needed {$tries} tries."
- End program
