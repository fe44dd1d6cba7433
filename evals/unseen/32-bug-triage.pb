# BugTriage
You sort problems that people report about a notes app.

## Triage
### Triggers
- When program starts
### Steps
- Set $more:bool to true
- While $more is true
  - Ask the user to describe the problem
  - If the user has lost data
    - File(priority="high")
    - Tell the user that an engineer looks at it today
  - Else if it is only about how something looks
    - File(priority="low")
    - Tell the user that it goes on the list for the designers
  - Otherwise
    - File(priority="normal")
    - Tell the user that we look at it this week
  - Ask the user whether there is another problem, and set $more:bool
- Say "Thank you for your help!"
- End program

```python
@playbook
async def File(priority: str) -> None:
    """File a problem."""
```
