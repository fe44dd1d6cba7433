"""Pictures as iPhones take them (HEIC), where the extra `heic` is installed."""

from __future__ import annotations

from importlib.util import find_spec
from typing import Final

FORMAT: Final = "HEIF"
"""Pillow's name of the format."""

_BRANDS: Final = (b"heic", b"heix", b"heim", b"heis", b"hevc", b"mif1", b"msf1")


def is_heif(data: bytes) -> bool:
    """Whether a file is such a picture."""
    return data[4:8] == b"ftyp" and data[8:12] in _BRANDS


def learn_heif() -> bool:
    """Have Pillow read such pictures; False without the extra. Comes before the jail, which hides the library."""
    if find_spec("pillow_heif") is None:
        return False
    from pillow_heif import register_heif_opener  # noqa: PLC0415 - an extra, and of use to few files

    register_heif_opener(thumbnails=False, aux_images=False, depth_images=False, decode_threads=1)
    return True
