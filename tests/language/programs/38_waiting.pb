# Patient
## Main
### Triggers
- At the beginning
### Steps
- Ask Slow for a report
- While there is no report
  - Wait for 30 seconds
  - If it takes too long, tell the user
- Tell the user what Slow said
- Remind yourself tomorrow to ask again
- End program

# Slow
## Report
### Triggers
- When asked for a report
### Steps
- Sleep for 2 minutes
- Tell Patient the report
