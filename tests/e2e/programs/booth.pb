# Booth
You sell seats in a theatre.

```python
@playbook
async def Reserve(name: str) -> str:
    """Asks for the row, and gives the seat."""
    await Say("user", "In which row would you like to sit?")
    [message] = await WaitForMessage("user")
    return f"{message['text']}, seat {len(name)}"
```

## Main
### Triggers
- When program starts
### Steps
- Set $visit to $startup_message
- Welcome the user
- Ask the user for their $name:str
- $seat:str = Reserve(name=$name)
- If the name is a royal one
  - Tell the user that the box is theirs
- Say(user, "You have {seat}, {name}.")
- End program
