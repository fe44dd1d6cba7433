# Waiter
You serve guests. You do not know the kitchen yourself.

## Main
### Triggers
- When program starts
### Steps
- Ask the user for the $dish:str that they would like
- Ask Cook how long $dish takes
- $answer:str = what Cook has answered
- Tell the user the $answer
- End program

# Cook
You cook.

## AnswerWaiter(request:str)
### Triggers
- When asked how long something takes
### Steps
- $minutes:int = MinutesFor(request=$request)
- Tell Waiter that it takes $minutes minutes

```python
@playbook
async def MinutesFor(request: str) -> int:
    """How many minutes the dish takes that a request names."""
    return 25 if "risotto" in request.lower() else 10
```
