"""The settings for spans and metrics."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from urllib.parse import unquote

from pydantic import Field, SecretStr, field_validator

from gateway.settings.forms import FilePath, Section

_TRACES_ENDPOINT = "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT"
_ENDPOINT = "OTEL_EXPORTER_OTLP_ENDPOINT"
_HEADERS = ("OTEL_EXPORTER_OTLP_HEADERS", "OTEL_EXPORTER_OTLP_TRACES_HEADERS")
_TRACES_PATH = "/v1/traces"


class TracingSettings(Section):
    """Spans for a collector that speaks OTLP over HTTP.

    `endpoint` is the whole URL for posts. `headers` are lines of `name=value`. `content`: spans include what people and
    models write. `share` is the part of all sessions that is traced.
    """

    on: bool = False
    endpoint: str | None = None
    headers: SecretStr | None = None
    headers_file: FilePath | None = None
    content: bool = False
    share: float = Field(default=1, ge=0, le=1)
    timeout_s: float = Field(default=5, gt=0, le=60)

    @field_validator("endpoint")
    @classmethod
    def _is_http(cls, url: str | None) -> str | None:
        if url is not None and not url.startswith(("http://", "https://")):
            raise ValueError("must be a URL with http:// or https://")
        return url

    @field_validator("headers")
    @classmethod
    def _are_headers(cls, headers: SecretStr | None) -> SecretStr | None:
        for name, value in _pairs("" if headers is None else headers.get_secret_value()):
            if not name or not value:
                raise ValueError("must be lines of name=value")
        return headers

    def target(self, variables: Mapping[str, str]) -> str | None:
        """The URL for posts: ours, else that of OpenTelemetry's own variables; None if neither is set."""
        if self.endpoint is not None:
            return self.endpoint
        if whole := variables.get(_TRACES_ENDPOINT):
            return whole
        begun = variables.get(_ENDPOINT)
        return begun.rstrip("/") + _TRACES_PATH if begun else None

    def sent_headers(self, variables: Mapping[str, str]) -> dict[str, str]:
        """The headers to send: OpenTelemetry's variables (percent-encoded, separated by commas), overridden by ours."""
        found: dict[str, str] = {}
        for variable in _HEADERS:
            lines = variables.get(variable, "").replace(",", "\n")
            found |= {unquote(name).lower(): unquote(value) for name, value in _pairs(lines)}
        own = "" if self.headers is None else self.headers.get_secret_value()
        return found | {name.lower(): value for name, value in _pairs(own)}

    def words(self) -> frozenset[str]:
        """Every secret among the headers."""
        own = "" if self.headers is None else self.headers.get_secret_value()
        return frozenset(word for _, value in _pairs(own) for word in (value, value.rpartition(" ")[2]))


class MetricsSettings(Section):
    """`/metrics` answers requests with the `token`, and none while it is unset."""

    token: SecretStr | None = None
    token_file: FilePath | None = None


def _pairs(text: str) -> Iterator[tuple[str, str]]:
    for line in text.splitlines():
        if line.strip():
            name, _, value = line.partition("=")
            yield name.strip(), value.strip()
