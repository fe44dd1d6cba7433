# Caller
## Main
### Triggers
- At the beginning
### Steps
- A()
- $x = B(1)
- $y = B(n=$x)
- Call A
- Call B with $y
- Use B with $y to get $z
- C("a, (b)", [1, 2], {"k": ")"})
- EndProgram()
## A
- Think
## B($n:int) -> int
- Return $n + 1
## C($a, $b, $c)
- Return
