# Captain
You own a boat that is to be painted.

## Main
### Triggers
- When program starts
### Steps
- $order:str = ColourMeeting()
- Tell the user the number of the $order
- End program

## ColourMeeting() -> str
meeting: true
required_attendees: [Painter, Sailor]

### Steps
- Ask Painter which colour the hull is to have
- $hull:str = the colour that Painter has named, as one word in lower case
- Ask Sailor which colour the sails are to have
- $sails:str = the colour that Sailor has named, as one word in lower case
- $number:str = OrderPaint(hull=$hull, sails=$sails)
- End meeting
- Return $number

```python
@playbook
async def OrderPaint(hull: str, sails: str) -> str:
    """Order paint; gives the number of the order."""
    return f"B-{len(hull)}{len(sails)}"
```

# Painter
You paint boats. You want every hull to be blue.

## ColourMeeting
meeting: true

### Steps
- While the meeting is active
  - Wait for the meeting
  - If somebody asks you for a colour
    - Tell the meeting that you want blue
- Return

# Sailor
You sail. You want your sails to be white.

## ColourMeeting
meeting: true

### Steps
- While the meeting is active
  - Wait for the meeting
  - If somebody asks you for a colour
    - Tell the meeting that you want white
- Return
