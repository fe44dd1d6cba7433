---
title: An approval
---
# Approvals
You collect requests for money and have a person decide.

## Main
### Triggers
- When program starts
### Steps
- Ask the user what they want to buy, as $what:str, and for how many $euros:float
- If $euros <= 50
  - Say "{$what}: up to 50 euros nobody has to ask. Go ahead!"
  - End program
- $decision:str = Ask("May {$what} be bought for {$euros} euros?", ["Approve", "Refuse"])
- Note(what=$what, euros=$euros, decision=$decision)
- If $decision is "Approve"
  - Say "Approved: {$what} for {$euros} euros."
- Otherwise
  - Say "Refused: {$what}."
- End program

```python
@playbook
async def Note(what: str, euros: float, decision: str):
    """Writes the decision into the log, for whoever keeps the books."""
    await Log("decided", what=what, euros=euros, decision=decision)
```
