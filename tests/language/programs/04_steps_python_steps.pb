# Chain
## Main
### Triggers
- At the beginning
### Steps
- $result = Middle(3)
- Tell the user the $result
- End program

```python
@playbook
async def Middle(n: int) -> str:
    return await Inner(word="x" * n)
```

## Inner($word)
### Steps
- Think about $word
- Return $word twice
