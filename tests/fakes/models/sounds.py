"""Recordings of a given length in the containers that people send. Nothing can be heard in them."""

import struct


def opus(seconds: float, *, packet_bytes: int = 60) -> bytes:
    """Ogg with Opus, as Telegram and Discord record it: a page for each second."""
    head = b"OpusHead" + struct.pack("<BBHIhB", 1, 1, 312, 48_000, 0, 0)
    pages = [_page(head, 0, 0, flags=2), _page(b"OpusTags" + struct.pack("<I", 0) * 2, 0, 1)]
    samples, whole = 312, 312 + round(seconds * 48_000)
    while samples < whole:
        samples = min(whole, samples + 48_000)
        pages.append(_page(bytes([samples >> 8 & 0xFF]) * packet_bytes, samples, len(pages)))
    return b"".join(pages)


def _page(packet: bytes, granule: int, number: int, *, flags: int = 0) -> bytes:
    head = b"OggS" + struct.pack("<BBqIIIB", 0, flags, granule, 7, number, 0, 1) + bytes([len(packet)])
    return head + packet


def wav(seconds: float) -> bytes:
    """PCM of 8 kHz in one channel."""
    data = bytes(round(seconds * 16_000))
    form = struct.pack("<HHIIHH", 1, 1, 8_000, 16_000, 2, 16)
    return (
        b"RIFF"
        + struct.pack("<I", 36 + len(data))
        + b"WAVEfmt "
        + struct.pack("<I", 16)
        + form
        + b"data"
        + (struct.pack("<I", len(data)) + data)
    )


def mp3(seconds: float) -> bytes:
    """MPEG-1, layer III, 128 kbit/s, 44.1 kHz, behind a tag."""
    frame = b"\xff\xfb\x90\x00" + bytes(413)
    return b"ID3\x03\0\0\0\0\0\x0a" + bytes(10) + frame * round(seconds * 44_100 / 1_152)


def aac(seconds: float) -> bytes:
    """AAC without a container (ADTS), 44.1 kHz."""
    frame = bytes([0xFF, 0xF1, 0x50, 0x80, 200 >> 3, (200 & 7) << 5 | 0x1F, 0xFC]) + bytes(193)
    return frame * round(seconds * 44_100 / 1_024)


def flac(seconds: float) -> bytes:
    """Its first block, which says how long it is."""
    head = 44_100 << 44 | 15 << 36 | round(seconds * 44_100)
    return b"fLaC\0\0\0\x22" + bytes(10) + head.to_bytes(8, "big") + bytes(16)


def mp4(seconds: float, *, film: bool = False, fragments: bool = False) -> bytes:
    """M4A, or a film, or what Safari records: fragments whose length stands in them alone."""
    units = round(seconds * 1_000)
    track = _box(b"tkhd", bytes(12) + struct.pack(">I", 1) + bytes(4))
    sound = _box(b"mdhd", bytes(12) + struct.pack(">II", 1_000, 0)) + _box(b"hdlr", bytes(8) + b"soun")
    tracks = _box(b"trak", track + _box(b"mdia", sound))
    if film:
        tracks += _box(b"trak", _box(b"mdia", _box(b"hdlr", bytes(8) + b"vide")))
    header = _box(b"mvhd", bytes(12) + struct.pack(">II", 1_000, 0 if fragments else units))
    more = _box(b"mvex", _box(b"trex", bytes(4) + struct.pack(">IIII", 1, 1, 100, 0))) if fragments else b""
    whole = _box(b"ftyp", b"iso5" + bytes(4)) + _box(b"moov", header + tracks + more)
    for _ in range(units // 1_000 if fragments else 0):
        run = _box(b"tfhd", bytes(4) + struct.pack(">I", 1)) + _box(b"trun", bytes(4) + struct.pack(">I", 10))
        whole += _box(b"moof", _box(b"traf", run)) + _box(b"mdat", bytes(40))
    return whole


def _box(name: bytes, content: bytes) -> bytes:
    return struct.pack(">I", 8 + len(content)) + name + content


def webm(seconds: float, *, film: bool = False) -> bytes:
    """What Chrome and Firefox record: no length anywhere but in the blocks, clusters of unknown size."""
    unknown = b"\x01" + b"\xff" * 7
    track = _element(0xAE, _element(0x83, b"\1" if film else b"\2"))
    whole = _element(0x1A45DFA3, b"") + _id(0x18538067) + unknown + _element(0x1654AE6B, track)
    for second in range(round(seconds)):
        whole += _id(0x1F43B675) + unknown + _element(0xE7, struct.pack(">I", second * 1_000))
        whole += _element(0xA3, b"\x81" + struct.pack(">h", 999) + b"\x80" + bytes(20))
    return whole


def _element(id_: int, content: bytes) -> bytes:
    return _id(id_) + struct.pack(">I", 0x10000000 | len(content)) + content


def _id(id_: int) -> bytes:
    return id_.to_bytes((id_.bit_length() + 7) // 8, "big")
