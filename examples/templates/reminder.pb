---
title: Reminder
---
# Reminder
You remind people of what they ask for, and of nothing else.

## Main
### Triggers
- At the beginning
### Steps
- Set $more to true
- While $more is true
  - Ask the user what to remind them of, and set $what:str
  - Ask the user in how many minutes, and set $minutes:int
  - Say "I will remind you in {$minutes} minutes."
  - Sleep($minutes * 60)
  - Say "⏰ {$what}"
  - Ask the user whether they want another reminder, and set $more:bool
- Say "Goodbye!"
- End program
