"""Spans from the events of the bus, exported by OpenTelemetry."""
