"""Pictures: decoded, turned as their camera says, scaled down, without anything beside their pixels, as JPEG."""

from __future__ import annotations

import io
import struct
from importlib.util import find_spec
from typing import Final

from PIL import Image, ImageOps, TiffImagePlugin, UnidentifiedImageError, WebPImagePlugin

from gateway.features.files.worker.limits import Found, NotRead

FORMAT: Final = "HEIF"

_BRANDS: Final = (b"heic", b"heix", b"heim", b"heis", b"hevc", b"mif1", b"msf1")

FORMATS: Final = ("JPEG", "PNG", "GIF", "WEBP", "BMP", "TIFF")
QUALITY: Final = 85

_TURNED_BY: Final = 0x0112

_PAPER: Final = (255, 255, 255)


def is_heif(data: bytes) -> bool:
    return data[4:8] == b"ftyp" and data[8:12] in _BRANDS


def learn_heif() -> bool:
    """Have Pillow read such pictures; False without the extra. Comes before the jail, which hides the library."""
    if find_spec("pillow_heif") is None:
        return False
    from pillow_heif import register_heif_opener  # noqa: PLC0415 - an extra, and of use to few files

    register_heif_opener(thumbnails=False, aux_images=False, depth_images=False, decode_threads=1)
    return True


Image.MAX_IMAGE_PIXELS = None  # ours is the limit, with a sentence of its own
Image.preinit()  # the readers of these formats alone: those of all would cost more than a photo
assert TiffImagePlugin.TiffImageFile.format in FORMATS
assert WebPImagePlugin.WebPImageFile.format in FORMATS


def read_heif(data: bytes, found: Found) -> None:
    """Keep a picture of an iPhone as one part, where it was learned how. Raises NotRead."""
    if FORMAT not in Image.OPEN:
        raise NotRead("heif")
    try:
        read_picture(data, found, formats=(FORMAT,))
    except RuntimeError as error:  # of libheif, which knows no other
        raise NotRead("too_much_memory" if "llocat" in str(error) else "broken_picture") from error


def read_picture(data: bytes, found: Found, *, formats: tuple[str, ...] = FORMATS) -> None:
    """Keep a picture as one part. Raises NotRead."""
    try:
        with Image.open(io.BytesIO(data), formats=formats) as image:
            width, height = image.size
            if width * height > found.limits.pixels:
                raise NotRead("too_many_pixels", width=width, height=height, megapixels=found.limits.pixels // 10**6)
            found.picture(encoded(image, found.limits.side))
    except (UnidentifiedImageError, OSError, SyntaxError, ValueError, struct.error) as error:
        raise NotRead("broken_picture") from error


def encoded(image: Image.Image, side: int) -> bytes:
    """A picture as JPEG, turned, and at most `side` pixels wide and high."""
    turned = image.getexif().get(_TURNED_BY)
    scale = min(1.0, side / max(image.size))
    width, height = (max(1, round(edge * scale)) for edge in image.size)
    image.draft("RGB", (width, height))  # JPEG is decoded at a half or a quarter of its size where that is enough
    image.thumbnail((width, height), Image.Resampling.LANCZOS, reducing_gap=None)
    if turned is not None:
        image.getexif()[_TURNED_BY] = turned
        image = ImageOps.exif_transpose(image)
    written = io.BytesIO()
    _flat(image).save(written, "JPEG", quality=QUALITY)
    return written.getvalue()


def _flat(image: Image.Image) -> Image.Image:
    """In red, green and blue; what can be seen through lies on white."""
    if image.mode == "RGB":
        return image
    if image.mode.startswith("I") or image.mode == "F":  # 16 bits and more: the brightest is white
        low, high = image.convert("F").getextrema()
        span = max(float(high) - float(low), 1.0)  # type: ignore[arg-type]
        return image.convert("F").point(lambda value: (value - float(low)) * (255.0 / span)).convert("RGB")  # type: ignore[arg-type]
    if image.has_transparency_data:
        paper = Image.new("RGB", image.size, _PAPER)
        seen = image.convert("RGBA")
        paper.paste(seen, mask=seen)
        return paper
    return image.convert("RGB")
