# Support
## Main
### Triggers
- At the beginning
### Steps
- Help the user with their questions until they are content
- End program

## Hand over
### Trigger
- When the user is frustrated
- When the user asks for a person
### Steps
- Apologize to the user and tell them that a person comes
- Call Escalate($reason)
- End program

## Escalate($reason)
### Steps
- Tell Bob what happened

# Bob:Human
name: Bob the helper
delivery_channel: buffered
