# Board
## Main
### Triggers
- At the beginning
### Steps
- Have a planning meeting with Ann and Ben
- End program

## Planning Meeting
meeting: true
required_attendees: Ann, Ben
### Steps
- Set shared_state.plan to an empty list
- Ask everyone for one item and add it to shared_state.plan
- End meeting
- Return shared_state.plan

# Ann
## Plan
meeting: true
- Propose an item
# Ben
## Plan
meeting: true
- Propose an item
