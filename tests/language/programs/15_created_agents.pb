# Director
## Main
### Triggers
- At the beginning
### Steps
- $first = CreateAgent("Actor", name="Ada")
- $second = CreateAgent("Actor", name="Bo")
- Ask $first to begin
- End program

# Actor
## Play($line:str) -> str
public: true
### Triggers
- At the beginning
### Steps
- Think about $name
