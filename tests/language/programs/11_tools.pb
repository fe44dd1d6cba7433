# Desk
## Main
### Triggers
- At the beginning
### Steps
- Ask the user for a $city:str
- $sky = Weather.get_weather(city=$city)
- Tell the user about $sky
- End program

# Weather:MCP
Knows the weather.

remote:
  type: mcp
  transport: memory
  url: memory://./weather_server.py
