# Travel Coordinator
You coordinate trips.

## Plan Trip
### Triggers
- When user asks to plan a trip

### Steps
- Tell the user that you will coordinate their trip planning
- Have a travel planning meeting to get best itinerary options
- Present itinerary options to user

## Travel Planning Meeting
meeting: true
required_attendees: [FlightAgent, HotelAgent]

### Steps
- Introduce yourself and the purpose of the meeting
- Share specific criteria for the trip
- Collaborate with the other agents in the meeting and drive the meeting towards finding the best itinerary options
- While a hotel is missing
  - Wait for the meeting
- Thank the other agents for their contributions
- End meeting
- Return the itinerary options

# FlightAgent
You know flights.

## Planning meeting
meeting: true

### Steps
- While the meeting is active
  - When asked about flights
    - Share flight options with the meeting

# RegionAgent
You know regions.

## Supports($region)
public: true
### Triggers
- When asked if a region is supported
### Steps
- Tell HotelAgent whether $region is supported

# HotelAgent

## Planning meeting
meeting: true

### Steps
- Introduce yourself and what you can help with in this meeting
- While the meeting is active
  - When asked about hotel options
    - Ask RegionAgent if we support this region
    - If region is supported
      - Get hotel options for selected criteria
      - Share hotel options with the meeting
    - Otherwise
      - Say that unfortunately we don't support this region
  - When asked about amenities for a specific hotel
    - GetAmenities(hotel)
    - Reply to the meeting with the amenities
  - When you think you have something useful to say to the meeting
    - Say that to the meeting

```python
@playbook
async def GetAmenities(hotel: str) -> str:
    """The amenities of a hotel."""
    return "a pool"
```
