"""What goes where there is one too many of something that many people share."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence


def oldest_of_largest(owners: Sequence[str]) -> int:
    """The place of the oldest item of who has most: one who takes all the room loses only their own. `owners` are whose
    the items are, oldest first.
    """
    counts = Counter(owners)
    return owners.index(max(counts, key=lambda owner: counts[owner]))
