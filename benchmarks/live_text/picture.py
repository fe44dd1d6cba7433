"""Text produced and text shown over time, as an SVG."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from pathlib import Path

from msgspec import Struct

from benchmarks.live_text.optimum import Plan
from benchmarks.live_text.policies import OURS, POLICIES
from benchmarks.live_text.profiles import PROFILES
from benchmarks.live_text.simulation import Setting, Speech, simulate
from benchmarks.live_text.traces import TRACES, Chunk, Trace

PANELS = [
    (profile, trace) for profile in ("Telegram private", "Telegram group") for trace in ("steady 15 s", "bursty 50/s")
]
SEED = 3
_COLOURS = {"produced": "#222222", "optimum": "#2a9d4a", OURS: "#1f66d0", "greedy": "#d9822b"}
_WIDTH, _HEIGHT = 560, 340
_LEFT, _RIGHT, _TOP, _BOTTOM = 56, 14, 34, 40


class Curve(Struct, frozen=True):
    """A length over time. `steps`: it stays as it is until the next point."""

    name: str
    points: Sequence[Chunk]
    delay_s: float | None = None
    steps: bool = True


def draw(path: Path) -> None:
    """Write the picture."""
    columns = 2
    rows = len(PANELS) // columns
    width, height = columns * _WIDTH, rows * _HEIGHT
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}"'
        ' font-family="sans-serif" font-size="13">',
        f'<rect width="{width}" height="{height}" fill="#ffffff"/>',
    ]
    for number, (profile, trace) in enumerate(PANELS):
        row, column = divmod(number, columns)
        parts.append(f'<g transform="translate({column * _WIDTH} {row * _HEIGHT})">')
        parts += _panel(f"{profile}, {trace}", _curves(profile, TRACES[trace](SEED)))
        parts.append("</g>")
    path.write_text("\n".join([*parts, "</svg>", ""]), encoding="utf-8")


def _curves(profile: str, chunks: Trace) -> list[Curve]:
    limits = PROFILES[profile]
    plan = Plan(chunks, limits.budget, limits.tick_s)
    curves = [Curve("produced", chunks, steps=False), Curve("optimum", plan.landings(), plan.delay_s)]
    for policy in ("greedy", OURS):
        run = simulate([Speech(0.0, chunks)], Setting(limits, POLICIES[policy], seed=SEED))
        curves.append(Curve(policy, run.landings, run.texts[0].delay_s))
    return curves


def _panel(title: str, curves: Sequence[Curve]) -> list[str]:
    last_s = max(point.at for curve in curves for point in curve.points) + 1.0
    most = max(point.length for point in curves[0].points)
    across, up = (_WIDTH - _LEFT - _RIGHT) / last_s, (_HEIGHT - _TOP - _BOTTOM) / most

    def place(at: float, length: float) -> str:
        return f"{_LEFT + at * across:.1f} {_HEIGHT - _BOTTOM - length * up:.1f}"

    parts = [f'<text x="{_LEFT}" y="20" font-weight="bold">{escape(title)}</text>']
    step_s = next(step for step in (1, 2, 5, 10, 20) if last_s / step <= 10)
    for second in range(0, int(last_s) + 1, step_s):
        x = _LEFT + second * across
        parts.append(f'<path d="M{x:.1f} {_TOP}V{_HEIGHT - _BOTTOM}" stroke="#e4e4e4"/>')
        parts.append(f'<text x="{x:.1f}" y="{_HEIGHT - 22}" text-anchor="middle" fill="#555555">{second}</text>')
    step = next(size for size in (100, 200, 500, 1000, 2000, 5000) if most / size <= 6)
    for length in range(0, most + 1, step):
        y = _HEIGHT - _BOTTOM - length * up
        parts.append(f'<path d="M{_LEFT} {y:.1f}H{_WIDTH - _RIGHT}" stroke="#e4e4e4"/>')
        parts.append(f'<text x="{_LEFT - 6}" y="{y + 4:.1f}" text-anchor="end" fill="#555555">{length}</text>')
    parts.append(f'<text x="{_WIDTH - _RIGHT}" y="{_HEIGHT - 6}" text-anchor="end" fill="#555555">seconds</text>')
    for number, curve in enumerate(curves):
        colour = _COLOURS[curve.name]
        line = "M" + place(0, 0)
        for point in curve.points:
            right, height = place(point.at, point.length).split()
            line += f"H{right}V{height}" if curve.steps else f"L{right} {height}"
        line += f"H{_LEFT + last_s * across:.1f}"
        dashes = ' stroke-dasharray="5 3"' if curve.name == "optimum" else ""
        parts.append(f'<path d="{line}" fill="none" stroke="{colour}" stroke-width="1.6"{dashes}/>')
        label = curve.name if curve.delay_s is None else f"{curve.name}: mean delay {curve.delay_s:.2f} s"
        y_text = _HEIGHT - _BOTTOM - 66 + 17 * number
        parts.append(f'<text x="{_WIDTH - _RIGHT - 6}" y="{y_text}" text-anchor="end" fill="{colour}">{label}</text>')
    return parts
