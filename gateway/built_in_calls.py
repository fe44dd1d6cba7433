"""All built-in calls, also those of features."""

from __future__ import annotations

from gateway.capabilities import FEATURES
from runtime.execution.calls.table import SIGNATURES as SIGNATURES
from runtime.execution.calls.table import take_calls

for _feature in FEATURES:
    take_calls(call.found() for call in _feature.calls)
