# RouterHelp
You help people at home whose internet does not work. You are calm.

## Fix
### Triggers
- When program starts
### Steps
- Say "Let us get your internet running again."
- Set $number:int to 0
- Repeat until the user says that it works
  - Set $number to $number + 1
  - $tip:str = Tip(number=$number)
  - Say "{$tip}"
  - Ask the user whether the internet works now
- Say "Great. It took {$number} tips."
- End program

```python
TIPS = [
    "Pull the plug of the router and put it back.",
    "Check that the cable sits tight in the blue socket.",
    "Switch the wireless of your computer off and on.",
    "Press the small button at the back for ten seconds.",
]


@playbook
async def Tip(number: int) -> str:
    """A tip by its number, from 1."""
    return TIPS[(number - 1) % len(TIPS)]
```
