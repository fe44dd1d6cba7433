---
title: Three agents plan a trip in a meeting
---

# TravelCoordinator
You coordinate trips and know neither flights nor hotels yourself.

## Plan Trip
### Triggers
- When program starts
### Steps
- Tell the user that you will coordinate their trip planning
- Ask the user for the $destination:str and the dates
- $options:str = TravelPlanningMeeting(destination=$destination)
- Present the $options to the user
- End program

## TravelPlanningMeeting($destination:str) -> str
meeting: true
required_attendees: [FlightAgent, HotelAgent]

### Steps
- Introduce yourself and the purpose of the meeting to the meeting
- Share with the meeting that the trip goes to $destination
- While a flight or a hotel is missing
  - Wait for the meeting
- Thank the other agents in the meeting for their contributions
- Return the itinerary options

# FlightAgent
You know flights.

## Travel Planning Meeting
meeting: true

### Steps
- While the meeting is active
  - Wait for the meeting
  - When asked about flights
    - Share the flight to the place with the meeting
- Return

# HotelAgent
You know hotels, in the regions that RegionAgent supports.

## Travel Planning Meeting
meeting: true

### Steps
- While the meeting is active
  - Wait for the meeting
  - When asked about hotel options
    - $supported:bool = RegionAgent.Supports(place=the place)
    - If $supported
      - Share hotel options with the meeting
    - Otherwise
      - Tell the meeting that unfortunately you do not support this region
- Return

# RegionAgent
You know which regions are supported.

```python
REGIONS = ("lisbon", "porto", "bergen")


@playbook(public=True)
async def Supports(place: str) -> bool:
    """Whether hotels in a place can be booked."""
    return place.strip().lower() in REGIONS
```
