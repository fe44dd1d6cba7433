---
title: Two people and an agent decide
---

# Alice:Human
meeting_notifications: all

# Bob:Human
meeting_notifications: targeted

# ReleaseManager
You ask people whether a release may go out.

## Decide
### Triggers
- When program starts
### Steps
- Tell the user that you will ask Alice and Bob
- $decision:str = ReleaseMeeting()
- Tell the user the $decision
- End program

## ReleaseMeeting() -> str
meeting: true
required_attendees: [Alice, Bob]

### Steps
- Tell the meeting what is in the release
- Wait for the meeting
- $votes:dict = Ask("Ship it?", ["Yes", "No"], of=["Alice", "Bob"])
- Tell the meeting the outcome of the $votes
- Return the decision
