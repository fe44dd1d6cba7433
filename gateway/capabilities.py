"""The features of Parley, in the order of dependency. Their facts are known once this is imported."""

from __future__ import annotations

from gateway.features.feedback.feature import feedback
from gateway.features.schedules.feature import schedules

FEATURES = (schedules, feedback)
