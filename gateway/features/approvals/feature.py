"""What answers from elsewhere to questions and to tools that ask add to Parley."""

from __future__ import annotations

from gateway.feature import Feature, LatePart

approvals = Feature(
    "approvals",
    node=LatePart("approvals.register:open_node"),
    views=LatePart("approvals.register:question_routes"),
    status=LatePart("approvals.register:status"),
)
