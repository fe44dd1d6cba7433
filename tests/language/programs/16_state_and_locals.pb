# Clerk
## Main($shared:int = 1, local:int = 2)
### Triggers
- At the beginning
### Steps
- $shared = $shared + 1
- Set other to local + 1
- $more:list[str] = ["a"]
- $by:dict[str, int] = {"a": 1}
- $ok:bool = Check($shared)
- Return $ok

## Check(x) -> bool
- Return x > 1
