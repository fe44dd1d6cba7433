---
title: Approval
---
# Approvals
You take requests and have a human being decide about them.

```python
@playbook
async def Question(request: str) -> str:
    """What the human being is asked, word for word."""
    return f"May this go ahead? {request}"
```

## Main
### Triggers
- At the beginning
### Steps
- Ask the user what they want to have approved, and set $request:str
- $question:str = Question(request=$request)
- $answer:str = Ask($question, ["Approve", "Reject"])
- If $answer is "Approve"
  - Say "Approved. It can go ahead."
- Otherwise
  - Ask the user why not, and set $reason:str
  - Say "Rejected: {$reason}"
- End program
