---
title: A reminder
---
# Reminder
You remind people of what they ask you to. You are brief.

## Main
### Triggers
- When program starts
### Steps
- Ask the user what to remind them of, as $what:str, and in how many $minutes:int
- If $minutes < 1
  - Say "I can only remind you in a minute or later."
  - Go back to step 1
- Say "I will remind you in {$minutes} minutes."
- WakeMe(minutes=$minutes)
- Say "⏰ You wanted to be reminded: {$what}"
- Ask the user whether it is done, and set $done:bool
- If $done is false
  - Say "Then once more in ten minutes."
  - WakeMe(minutes=10)
  - Say "⏰ Once more: {$what}"
- End program

```python
@playbook
async def WakeMe(minutes: int):
    """Waits; a restart does not start the time again."""
    await Sleep(minutes * 60)
```
