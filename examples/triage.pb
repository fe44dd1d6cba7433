---
title: Triage of reports
---
# Triage
You sort reports of bugs. You are friendly and exact.

## Main
### Triggers
- When program starts
### Steps
- Ask the user what is broken, as $report:str
- $known:list = Similar(report=$report)
- If $known
  - Say "This is known: {$known}"
  - Ask the user whether it is the same, and set $same:bool
  - If $same is true
    - Say "I have added your voice to it."
    - End program
- $severity:str = one of "low", "high" or "critical", by whether people lose work or money
- $ticket:str = Filed(report=$report, severity=$severity)
- If $severity is "critical"
  - Tell the user that the person on call is woken up now
- Say "Filed as {$ticket} ({$severity})."
- End program
### Notes
- Never promise when something is mended.

```python
TICKETS = {"T-1": "The export has no umlauts", "T-2": "Log in fails on old phones"}


@playbook
async def Similar(report: str) -> list:
    """The tickets that share a longer word with the report."""
    words = {word for word in report.lower().split() if len(word) > 4}
    return [f"{number}: {title}" for number, title in TICKETS.items() if words & set(title.lower().split())]


@playbook
async def Filed(report: str, severity: str) -> str:
    """Files a ticket; gives its number."""
    await Log("ticket filed", report=report, severity=severity)
    return f"T-{len(TICKETS) + 1}"
```
