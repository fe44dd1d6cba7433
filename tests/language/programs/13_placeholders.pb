# Writer
Today is {timestamp.strftime("%Y-%m-%d")}.

## Main($topic:str = "rain")
Write about {$topic.upper()}. These are the rules:

{Loadfile("rules.md", inline=True, silent=True)}

And this is what {Author(topic=$topic)} said about {the season we are in}.
### Triggers
- At the beginning
### Steps
- Tell the user that {$topic} comes
- End program

## Author($topic)
- Return "Basho"
