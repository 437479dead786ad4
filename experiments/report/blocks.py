"""What a report page consists of, before it is HTML: sections of texts, tables, pictures and things that fold."""

from __future__ import annotations

import base64
from dataclasses import dataclass
from typing import ClassVar
from urllib.parse import quote

MEDIA_TYPES = {".svg": "image/svg+xml", ".png": "image/png"}


@dataclass(frozen=True, slots=True)
class Text:
    """A paragraph. Kind: "" plain, "warning" set off, "command" something to type, "listing" lines of a file."""

    text: str
    kind: str = ""
    tag: ClassVar[str] = "text"


@dataclass(frozen=True, slots=True)
class FileLink:
    """A paragraph that leads to a file beside the page."""

    text: str
    file: str
    tag: ClassVar[str] = "file_link"

    @property
    def address(self) -> str:
        """Relative URL."""
        return quote(self.file)


@dataclass(frozen=True, slots=True)
class Facts:
    """Names with their values."""

    items: tuple[tuple[str, str], ...]
    tag: ClassVar[str] = "facts"


@dataclass(frozen=True, slots=True)
class Cell:
    """A cell that has a colour ("holds", "direction", "differs", "measured", "none") or leads somewhere."""

    text: str
    kind: str = ""
    link: str = ""


@dataclass(frozen=True, slots=True)
class Grid:
    """A table. The first column of each row is its header.

    Columns numbered in `right` are flush right, those in `wide` hold sentences and get room for them.
    """

    caption: str
    header: tuple[str, ...]
    rows: tuple[tuple[str | Cell, ...], ...]
    right: tuple[int, ...] = ()
    wide: tuple[int, ...] = ()
    tag: ClassVar[str] = "grid"

    def __post_init__(self) -> None:
        if any(len(row) != len(self.header) for row in self.rows):
            raise ValueError(f"rows of the table {self.caption!r} must have {len(self.header)} cells each")


@dataclass(frozen=True, slots=True)
class Picture:
    """A picture inside the page; as an image of its own it shares no names with other pictures."""

    alt: str
    data: bytes
    ending: str
    caption: str = ""
    narrow: bool = False
    tag: ClassVar[str] = "picture"

    @property
    def source(self) -> str:
        """Data URI."""
        return f"data:{MEDIA_TYPES[self.ending]};base64,{base64.b64encode(self.data).decode('ascii')}"


@dataclass(frozen=True, slots=True)
class Fold:
    """Details that open on demand, and are printed open."""

    summary: str
    blocks: tuple[Block, ...]
    tag: ClassVar[str] = "fold"


@dataclass(frozen=True, slots=True)
class Part:
    """A heading inside a section, and what stands under it."""

    title: str
    blocks: tuple[Block, ...]
    anchor: str = ""
    tag: ClassVar[str] = "part"


Block = Text | FileLink | Facts | Grid | Picture | Fold | Part


@dataclass(frozen=True, slots=True)
class Section:
    """A section of the page; it begins on a new printed page."""

    title: str
    anchor: str
    blocks: tuple[Block, ...]


@dataclass(frozen=True, slots=True)
class Page:
    """The page."""

    title: str
    lead: str
    sections: tuple[Section, ...]
