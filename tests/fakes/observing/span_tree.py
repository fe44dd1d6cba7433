"""Spans that were told of, as text: one line each, indented below its parent."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from runtime.bus import Bus
from runtime.events.happening import BusEvent


@dataclass(frozen=True)
class Seen:
    """One finished span, however it was seen. Ids are hexadecimal; `links` are trace and span ids."""

    trace: str
    span: str
    parent: str
    name: str
    attributes: Mapping[str, Any]
    failed: bool
    links: tuple[tuple[str, str], ...]
    start_ns: int
    end_ns: int
    text: str = ""
    marks: tuple[str, ...] = ()

    def __str__(self) -> str:
        """Name, operation, error and whether it is linked."""
        parts = [self.name, str(self.attributes.get("gen_ai.operation.name", "-"))]
        if self.failed:
            parts.append(f"failed: {self.attributes.get('error.type')}")
        return " · ".join([*parts, *("linked" for _ in self.links)])


def traces(spans: Sequence[Seen]) -> list[str]:
    """The trace of each root, in the order in which they began."""
    roots = [span for span in spans if not span.parent]
    return ["\n".join(_lines(root, spans, 0)) for root in sorted(roots, key=lambda span: span.start_ns)]


def _lines(span: Seen, spans: Sequence[Seen], depth: int) -> list[str]:
    below = [other for other in spans if other.parent == span.span and other.trace == span.trace]
    lines = [f"{'  ' * depth}{span}"]
    for child in sorted(below, key=lambda child: (child.start_ns, str(child))):
        assert span.start_ns <= child.start_ns, (span, child)
        lines += _lines(child, spans, depth + 1)
    return lines


def told_again(bus: Bus, event: BusEvent) -> None:
    """Publish an event of another bus once more."""
    bus.publish(event.what)


@dataclass
class Replay(Bus):
    """Events that have happened, told once more, as a bus does."""

    handlers: dict[str, list[Callable[[BusEvent], None]]] = field(default_factory=dict)

    def subscribe(self, pattern: str, handler: Callable[[BusEvent], None]) -> Callable[[], None]:
        """Patterns here are names."""
        self.handlers.setdefault(pattern, []).append(handler)
        return lambda: self.handlers[pattern].remove(handler)

    def tell(self, events: Sequence[BusEvent]) -> None:
        """Tell all of them."""
        for event in events:
            for handler in self.handlers.get(event.name, []):
                handler(event)
