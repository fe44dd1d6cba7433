#!/usr/bin/env -S parley exec
# Greet
## Main($name:str, $times:int = 1, $loud:bool = False)
cli_entry: true
### Steps
- Repeat $times times
  - Greet $name
- End program
