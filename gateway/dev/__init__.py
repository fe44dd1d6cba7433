"""`parley dev`: what a person who writes programs sees beside the chat: diagnostics, and the step that runs."""
