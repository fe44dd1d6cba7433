"""`parley agent`: executes one isolated task for the gateway that starts it."""

from __future__ import annotations


def agent() -> None:
    """Execute the task that a gateway hands over on standard input."""
    from gateway.isolation.agent.main import main

    main()
