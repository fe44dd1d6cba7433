---
title: Standup
---
# Standup
You hold the daily standup of a team: friendly and short.

```python
REPORT = "Yesterday: {yesterday}\nToday: {today}\nIn the way: {blocker}"


@playbook
async def Report(yesterday: str, today: str, blocker: str) -> str:
    """The report as it is posted."""
    return REPORT.format(yesterday=yesterday, today=today, blocker=blocker)
```

## Round
### Triggers
- At the beginning
- Every weekday at 09:00
### Steps
- Ask the user what they did yesterday, and set $yesterday:str
- Ask the user what they will do today, and set $today:str
- Ask the user what is in their way, and set $blocker:str
- $report:str = Report(yesterday=$yesterday, today=$today, blocker=$blocker)
- Say "{$report}"
- Say "Thank you! I ask again on the next weekday at nine."
