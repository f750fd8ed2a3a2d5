"""The interface of register readers, one adapter per format."""

from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import BinaryIO, Protocol, runtime_checkable

from almoner.nonprofits.registers.domain import (
    RegisterEntry,
    RegisterFileRemark,
    RegisterLink,
    RejectedRow,
    RowWithoutNumber,
    UnreadableValue,
)
from almoner.nonprofits.registries.domain import DeclaredRegistry

SourceRow = RegisterEntry | RegisterLink | RejectedRow | RowWithoutNumber | UnreadableValue | RegisterFileRemark
"""The rows that a reader yields."""


class SourceFile(Protocol):
    """One file of a load: plain, or unpacked from gzip or a zip while reading. It is read once, from the beginning."""

    @property
    def name(self) -> str:
        """The file's name; in a ZIP file, the member's name."""
        ...

    def lines(self, encoding: str) -> Iterator[str]:
        """The lines with their line ends; undecodable bytes become U+FFFD."""
        ...

    def open_binary(self) -> BinaryIO:
        """The unpacked bytes of the file."""
        ...


class RegisterSource(Protocol):
    """A reader of one published register format."""

    @property
    def code(self) -> str:
        """The source's name on the command line, such as ``irs-bmf``."""
        ...

    @property
    def registry_code(self) -> str:
        """The code of the registry that assigns its numbers."""
        ...

    @property
    def lists_organisations(self) -> bool:
        """Whether its entries are organisations, not further facts about them."""
        ...

    @property
    def is_format_unverified(self) -> bool:
        """Whether the reader was never tested on a real file; then a reviewer must decide."""
        ...

    @property
    def has_repeated_numbers(self) -> bool:
        """Whether one number can have several rows, which become one entry."""
        ...

    @property
    def reads_files_together(self) -> bool:
        """Whether the files are tables of one extract that are read together."""
        ...

    @property
    def ignored_columns(self) -> frozenset[str]:
        """Columns whose changes are not reported to partners."""
        ...

    @property
    def canary_numbers(self) -> frozenset[str]:
        """Known numbers of which a complete file contains at least one."""
        ...

    def read(self, files: Sequence[SourceFile]) -> Iterator[SourceRow]:
        """The rows, one at a time, in bounded memory. Raises ImportRefused when a required column is missing."""
        ...


@runtime_checkable
class SourceWithDataDate(Protocol):
    """A source whose files state the date of their data."""

    def data_date(self, files: Sequence[SourceFile]) -> datetime | None:
        """The date stated in the files; None if there is none. Raises ImportRefused."""
        ...


@runtime_checkable
class RegistryDeclaringSource(Protocol):
    """A source that may declare its own registry."""

    @property
    def declared_registry(self) -> DeclaredRegistry | None:
        """The registry it declares, if any."""
        ...
