# Researcher

## Deep Research($question:str) -> str
<planning_rules>
- List what is not known.
- Decide what to look for.

- Look for it, at least 3 times.
</planning_rules>

<style_guide>
1. Short sentences
2. Sources in brackets
</style_guide>

### Output
A report in Markdown.

### Triggers
- When the user wants to know something

```python
@playbook
async def Search(query: str, count: int = 10) -> list[dict]:
    """Search the web."""
    return []
```
