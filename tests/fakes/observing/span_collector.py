"""A collector of spans on loopback, as Langfuse's: OTLP over HTTP at its path, Basic auth, protobuf, gzip.

Refuses what that refuses: another path (404), wrong keys (401), what is not protobuf (400). See langfuse.com/docs,
OpenTelemetry, and the specification of OTLP/HTTP (opentelemetry.io/docs/specs/otlp).
"""

import base64
import gzip
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import anyio
from google.protobuf.message import DecodeError
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.common.v1.common_pb2 import AnyValue, KeyValue
from opentelemetry.proto.trace.v1 import trace_pb2
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from gateway.web.server import serve
from tests.fakes.observing.span_tree import Seen

PATH = "/api/public/otel/v1/traces"
KEYS = "Basic " + base64.b64encode(b"pk-lf-1:sk-lf-a-secret-of-the-tests").decode()
LIMIT_S = 90.0


@dataclass
class Collector:
    """What came: `bodies` as sent, unpacked; `spans` of those that were taken."""

    port: int = 0
    refuses: int | None = None
    """The status with which everything is refused."""
    bodies: list[bytes] = field(default_factory=list)
    versions: list[str | None] = field(default_factory=list)
    spans: list[Seen] = field(default_factory=list)
    resources: list[dict[str, Any]] = field(default_factory=list)
    asked: int = 0
    _changed: anyio.Event = field(default_factory=anyio.Event)

    @property
    def url(self) -> str:
        """Where to post spans."""
        return f"http://127.0.0.1:{self.port}{PATH}"

    async def answer(self, request: Request) -> Response:
        """Take a batch, or say what is wrong with it."""
        self.asked += 1
        try:
            return await self._taken(request)
        finally:
            changed, self._changed = self._changed, anyio.Event()
            changed.set()

    async def _taken(self, request: Request) -> Response:
        body = await request.body()
        if request.headers.get("content-encoding") == "gzip":
            body = gzip.decompress(body)
        if self.refuses is not None:
            return Response(status_code=self.refuses)
        if request.headers.get("authorization") != KEYS:
            return Response("wrong keys", status_code=401)
        if request.headers.get("content-type") != "application/x-protobuf":
            return Response(status_code=415)
        self.bodies.append(body)
        self.versions.append(request.headers.get("x-langfuse-ingestion-version"))
        try:
            batch = ExportTraceServiceRequest.FromString(body)
        except DecodeError:
            return Response(status_code=400)
        for resource in batch.resource_spans:
            self.resources.append(_values(resource.resource.attributes))
            self.spans += [_seen(span) for scope in resource.scope_spans for span in scope.spans]
        return Response(b"", media_type="application/x-protobuf")

    async def until(self, holds: Callable[[], bool]) -> None:
        """Return when it holds; it is asked after every batch."""
        with anyio.fail_after(LIMIT_S):
            while not holds():
                await self._changed.wait()


@asynccontextmanager
async def collecting() -> AsyncIterator[Collector]:
    """A collector at work, until the block ends."""
    collector = Collector()
    app = Starlette(routes=[Route(PATH, collector.answer, methods=["POST"])])
    async with anyio.create_task_group() as tasks:
        collector.port = await tasks.start(serve, app, "127.0.0.1", 0)
        yield collector
        tasks.cancel_scope.cancel()


def _values(pairs: Any) -> dict[str, Any]:
    return {pair.key: _value(pair) for pair in pairs}


def _value(pair: KeyValue) -> Any:
    value: AnyValue = pair.value
    kind = value.WhichOneof("value")
    return None if kind is None else getattr(value, kind)


def _seen(span: trace_pb2.Span) -> Seen:
    return Seen(
        span.trace_id.hex(),
        span.span_id.hex(),
        span.parent_span_id.hex(),
        span.name,
        _values(span.attributes),
        span.status.code == trace_pb2.Status.STATUS_CODE_ERROR,
        tuple((link.trace_id.hex(), link.span_id.hex()) for link in span.links),
        span.start_time_unix_nano,
        span.end_time_unix_nano,
        span.status.message,
        tuple(event.name for event in span.events),
    )
