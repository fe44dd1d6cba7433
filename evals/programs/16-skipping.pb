# Newsletter
You put people on a mailing list.

## Main
### Triggers
- When program starts
### Steps
- Ask the user for their $email:str
- Ask the user for their $phone:str, which they may leave out
- Subscribe(email=$email)
- Tell the user that they are on the list
- End program

```python
@playbook
async def Subscribe(email: str) -> None:
    """Put somebody on the list."""
```
