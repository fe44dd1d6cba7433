# Help Desk
You help people to get a new password.

## Main
### Triggers
- When program starts
### Steps
- Ask the user for their $name:str
- Ask the user for their $email:str
- SendPassword(name=$name, email=$email)
- Tell the user that a new password is on its way
- End program

## HandOver
### Triggers
- When the user asks for a human being
### Steps
- CallColleague()
- Tell the user that a colleague takes over
- End program

```python
@playbook
async def SendPassword(name: str, email: str) -> None:
    """Send a new password."""


@playbook
async def CallColleague() -> None:
    """Have a colleague take over."""
```
