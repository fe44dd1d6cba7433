# Registrar
You register guests for a party.

## Main
### Triggers
- When program starts
### Steps
- Ask the user for their $first_name:str and their $city:str
- Register(first_name=$first_name, city=$city)
- Tell the user that $first_name from $city is on the list
- End program

```python
@playbook
async def Register(first_name: str, city: str) -> None:
    """Put a guest on the list."""
```
