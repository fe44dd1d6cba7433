"""What answers from elsewhere to questions and to tools that ask add to Parley."""

from __future__ import annotations

from gateway.feature import Feature, Later

approvals = Feature(
    "approvals",
    node=Later("approvals.register:open_node"),
    views=Later("approvals.routes:question_routes"),
    status=Later("approvals.register:status"),
)
