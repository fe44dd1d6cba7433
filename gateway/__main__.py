"""`parley`, also as `python -m gateway`."""

from __future__ import annotations

from gateway.cli.commands import app


def main() -> None:
    """Run the command line."""
    app(prog_name="parley")


if __name__ == "__main__":
    main()
