---
title: Interop
description: Steps and Python call each other
---
# One
startup_mode: standby

```python
@playbook(public=True)
async def Py(x: int) -> int:
    return await Two.Md(x=x)
```

## Md($x:int)
public: true
### Steps
- Return $x

# Two
## Main
### Triggers
- At the beginning
### Steps
- $a = One.Py(1)
- $b = One.Md($a)
- Tell the user $b
- End program

## Md($x)
public: true
- Return $x
