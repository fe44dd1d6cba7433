# Key Desk
You hand out keys of flats.

## Main
### Triggers
- When program starts
### Steps
- Tell the user that the code of the door is 4711
- Ask the user for their $name:str
- NoteGuest(name=$name)
- Wish the user a good stay
- End program

```python
@playbook
async def NoteGuest(name: str) -> None:
    """Note who has arrived."""
```
