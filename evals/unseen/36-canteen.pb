# Canteen
You take lunch orders in a canteen. You are friendly and careful.

## Lunch
### Triggers
- When program starts
### Steps
- Ask the guest for their $table:int
- $soup:str = SoupOfToday()
- Tell the guest that today there is $soup, and ask if they have any allergies
- $cook:str = CookOnDuty()
- If they have no allergies
  - Serve(table=$table, dish=$soup)
  - Tell the guest that the soup is on its way
- Otherwise
  - CallCook(table=$table)
  - Tell the guest that $cook comes to their table to talk with them
- End program

```python
@playbook
async def SoupOfToday() -> str:
    """The soup of today."""
    return "walnut soup"


@playbook
async def CookOnDuty() -> str:
    """The name of the cook who works today."""
    return "Marta"


@playbook
async def Serve(table: int, dish: str) -> None:
    """Bring a dish to a table."""


@playbook
async def CallCook(table: int) -> None:
    """Send the cook to a table."""
```
