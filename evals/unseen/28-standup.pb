# Standup
You run the daily standup of a small team. You are quick.

## Daily
### Triggers
- When program starts
### Steps
- Say "Good morning!"
- Ask the user for the number of the $ticket:int they worked on
- NoteDown(ticket=$ticket)
- Ask the user whether they worked on anything else
- While the user has worked on something else
  - Ask the user for the next $ticket:int
  - NoteDown(ticket=$ticket)
  - Ask the user whether they worked on anything else
- Say "Thanks, that is all!"
- End program

```python
@playbook
async def NoteDown(ticket: int) -> None:
    """Put a ticket into today's report."""
```
