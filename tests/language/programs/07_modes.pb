# Many Modes

## Research($topic) -> str
execution_mode: react
Find out about {$topic}, with as many calls as it takes.
### Triggers
- When the user asks for research

## Translate($text, $language)
metadata:
  execution_mode: single-shot
---
Translate {$text} into {$language}.

## Free($wish)
Do what the user wishes: {$wish}.

## Steps($x)
execution_mode: playbook
### Steps
- Think about $x
- Return $x

## Loop($x)
execution_mode: iterative
Go on until {$x} holds.

## Prompt
execution_mode: raw
Say something new.
