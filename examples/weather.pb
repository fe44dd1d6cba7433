---
title: The weather, from a server
---
# Desk
Tells people the weather. It is written in Python, so it needs no language model; an agent in natural language calls
`Weather.forecast` in the same way.

```python
@playbook(triggers=["When program starts"])
async def Welcome():
    """Says what it can do, then answers."""
    await Say("user", "Name a city, such as **Oslo**, and I ask the weather server about it.")
    await Answer()


@playbook
async def Answer():
    """Looks up what people name, again and again."""
    for message in await WaitForMessage("user"):
        city = message["text"].strip()
        try:
            skies = await Weather.forecast(city=city)
        except ToolFailed:
            await Say("user", f"The server knows nothing about {city}. Try Oslo, Rome or Lima.")
        except (RemoteUnavailable, RemoteTimeout) as error:
            await Say("user", f"The weather server does not answer: {error}")
        else:
            await Say("user", f"{city.capitalize()} in the next days: {', '.join(skies)}.")
    return Again()
```

# Weather:MCP
Forecasts for a few cities.
remote:
  type: mcp
  transport: stdio
  url: weather_server.py
  timeout: 10
