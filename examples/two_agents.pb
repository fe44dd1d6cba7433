# Concierge
You help guests of a small hotel. You know nothing about the weather yourself.

## Main
### Triggers
- When program starts
### Steps
- Ask the user in which $city:str they will be tomorrow
- $forecast:str = WeatherDesk.GetForecast(city=$city)
- Tell the user the $forecast and what to wear
- End program

# WeatherDesk
You keep the forecasts.

```python
FORECASTS = {"lisbon": "sunny, 27 degrees", "bergen": "rain, 12 degrees"}


@playbook
async def ReadForecast(city: str) -> str:
    """Tomorrow's forecast for a city, as the table has it."""
    return FORECASTS.get(city.strip().lower(), "unknown")
```

## GetForecast($city:str) -> str
public: true

Tell what the weather will be like tomorrow.
### Steps
- $raw:str = ReadForecast(city=$city)
- If $raw is "unknown"
  - Return a sentence that says there is no forecast for $city
- Return one sentence with the forecast for $city: $raw
