"""Packed documents: a ZIP archive of XML, of which no more is unpacked than the limits say."""

from __future__ import annotations

import io
import zipfile
import zlib
from collections.abc import Iterator
from typing import IO, Final, TypeAlias
from xml.etree import ElementTree

from runtime.files.worker.limits import Found, NotRead

_MAX_ENTRIES: Final = 20_000
_PIECE_BYTES: Final = 64 * 1024
_BROKEN: Final = (ElementTree.ParseError, zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, LookupError)

Element = ElementTree.Element
_Parser: TypeAlias = "ElementTree.XMLPullParser[Element]"


class Package:
    """The archive. Its names are only looked up, and nothing is written anywhere."""

    def __init__(self, data: bytes, found: Found) -> None:
        """Raises NotRead for a broken one."""
        try:
            self._archive = zipfile.ZipFile(io.BytesIO(data))
        except (zipfile.BadZipFile, OSError, ValueError, NotImplementedError) as error:
            raise NotRead("broken_document") from error
        self._left = found.limits.unpacked_bytes
        self.names = frozenset(self._archive.namelist())
        if len(self.names) > _MAX_ENTRIES:
            raise NotRead("bomb")

    def elements(self, name: str) -> Iterator[tuple[str, Element]]:
        """The elements of an entry, each when it begins and when it ends, with names without namespaces. Elements are
        emptied by whoever reads them. Raises NotRead for a bomb, for a locked or broken entry; none for a missing one.
        """
        if name not in self.names:
            return
        parser: _Parser = ElementTree.XMLPullParser(("start", "end"))
        try:
            if self._archive.getinfo(name).flag_bits & 1:
                raise NotRead("locked")
            with self._archive.open(name) as stream:
                for piece in self._pieces(stream):
                    parser.feed(piece)
                    yield from _bare(parser)
            parser.close()
            yield from _bare(parser)
        except _BROKEN as error:
            raise NotRead("broken_document") from error

    def text(self, name: str) -> str:
        """A short text in an entry; "" for a missing one."""
        if name not in self.names:
            return ""
        with self._archive.open(name) as stream:
            return stream.read(_PIECE_BYTES).decode(errors="replace")

    def _pieces(self, stream: IO[bytes]) -> Iterator[bytes]:
        while piece := stream.read(_PIECE_BYTES):
            self._left -= len(piece)
            if self._left < 0:
                raise NotRead("bomb")
            yield piece


def _bare(parser: _Parser) -> Iterator[tuple[str, Element]]:
    events: Iterator[tuple[str, Element]] = parser.read_events()  # type: ignore[assignment]  # only these were asked for
    for event, element in events:
        element.tag = element.tag.rpartition("}")[2]
        yield event, element


def attribute(element: Element, name: str) -> str:
    """An attribute by its name without a namespace; "" for a missing one."""
    return next((value for key, value in element.attrib.items() if key.rpartition("}")[2] == name), "")
