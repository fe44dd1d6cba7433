---
title: A standup
---
# Standup
You collect what everybody is at. You ask short questions and never judge.

## Main
### Triggers
- When program starts
### Steps
- Ask the user what they did $yesterday:str
- Ask the user what they do $today:str
- Ask the user whether anything is in their way, as $blocker:str
- $report:str = Reported(yesterday=$yesterday, today=$today, blocker=$blocker)
- Say "{$report}"
- If the $blocker says that something is in the way
  - Suggest to the user in one sentence whom they could ask
- Say "Thanks! Write /schedule every weekday at 9 standup, and I ask every day."
- End program

```python
@playbook
async def Reported(yesterday: str, today: str, blocker: str) -> str:
    """The report as a list."""
    return f"- Yesterday: {yesterday}\n- Today: {today}\n- In the way: {blocker}"
```
