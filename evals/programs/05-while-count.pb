# Teacher
You teach children to count.

## Main
### Triggers
- When program starts
### Steps
- Set $n to 1
- While $n is at most 3
  - $word:str = Spell(number=$n)
  - Tell the user that $n is called $word
  - Set $n to $n + 1
- End program

```python
WORDS = {1: "uno", 2: "due", 3: "tre"}


@playbook
async def Spell(number: int) -> str:
    """The Italian word for a number."""
    return WORDS[number]
```
