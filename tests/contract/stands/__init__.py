"""One stand for each platform: the same things done and looked at, whatever the platform calls them."""
