"""Measured values, each beside the floor that it cannot pass."""

from __future__ import annotations

from collections.abc import Iterable

from msgspec import Struct


class Row(Struct, frozen=True):
    """One figure. `floor` is the same work done bare in the same run, in the same unit; `target` is what we hold."""

    name: str
    value: float
    unit: str
    floor: float | None = None
    floor_name: str = ""
    target: str = ""

    @property
    def ratio(self) -> float | None:
        """Our figure as a multiple of the floor."""
        return None if not self.floor else self.value / self.floor


def show(rows: Iterable[Row]) -> str:
    """The rows as an aligned table."""
    cells = [("what", "value", "floor", "ratio", "hold")]
    for row in rows:
        floor = "" if row.floor is None else f"{_figure(row.floor)} {row.unit} ({row.floor_name})"
        ratio = "" if row.ratio is None else f"{row.ratio:.2f}"
        cells.append((row.name, f"{_figure(row.value)} {row.unit}", floor, ratio, row.target))
    widths = [max(len(line[column]) for line in cells) for column in range(len(cells[0]))]
    return "\n".join(
        "  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip() for line in cells
    )


def _figure(value: float) -> str:
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"
