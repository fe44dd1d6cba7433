---
title: Triage with tools
---
# Triage
You take reports of problems: calm, and asking only what is needed.

```python
KNOWN = {
    "login": "Reset your password at /account, then log in again.",
    "invoice": "Invoices are sent on the first working day of a month.",
}
TEAMS = {"low": "support", "normal": "support", "high": "the engineer on call"}


@playbook
async def FindAnswer(problem: str) -> str | None:
    """The answer to a known problem; None when there is none."""
    return next((answer for word, answer in KNOWN.items() if word in problem.lower()), None)


@playbook
async def OpenTicket(problem: str, urgency: str) -> dict:
    """Give the problem to the team for its urgency. Put your own tracker's call here."""
    return {"team": TEAMS.get(urgency, "support"), "problem": problem, "urgency": urgency}
```

## Main
### Triggers
- At the beginning
### Steps
- Ask the user what the problem is, and set $problem:str
- $answer = FindAnswer(problem=$problem)
- Set $solved to false
- If $answer is not None
  - Say "{$answer}"
  - Ask the user whether that solved it, and set $solved:bool
- If $solved is false
  - Ask the user how urgent it is: low, normal or high, and set $urgency:str
  - $ticket:dict = OpenTicket(problem=$problem, urgency=$urgency)
  - Say "I have given it to {$ticket['team']}."
- Say "Thank you!"
- End program
