"""What a person reads of what an agent wrote: random texts, and readers of each platform written from its documents."""
