# Restaurant
## Main
### Triggers
- At the beginning
### Steps
- $menu = MenuMeeting("a summer menu")
- Tell the user the $menu
- End program

## MenuMeeting($topic)
meeting: true
required_attendees: [Head Chef, Marketing]
### Steps
- Introduce yourself and the $topic
- Ask HeadChef for three dishes
- While the meeting is active
  - Ask everyone for their opinion
  - If all agree, exit the loop
- Privately ask Marketing for the budget
- Thank everyone
- End meeting
- Return the menu

# Head Chef
## Cook($topic)
meeting: true
### Steps
- While the meeting is active, discuss the dishes

# Marketing
## Sell($topic)
meeting: true
### Steps
- Take part in the meeting
- Leave meeting
