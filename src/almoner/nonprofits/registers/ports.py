"""What a register's reader gives; one adapter for each format."""

from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import BinaryIO, Protocol, runtime_checkable

from almoner.nonprofits.registers.domain import (
    ReaderNote,
    RegisterEntry,
    RegisterLink,
    RejectedRow,
    UnnumberedRow,
    UnreadableValue,
)
from almoner.nonprofits.registries.domain import DeclaredRegistry

SourceRow = RegisterEntry | RegisterLink | RejectedRow | UnnumberedRow | UnreadableValue | ReaderNote
"""What a reader gives."""


class SourceFile(Protocol):
    """One file of a load: plain, or unpacked from gzip or a zip while it is read. Read once, from its beginning."""

    @property
    def name(self) -> str:
        """Its name; that of the member where it lies in a zip."""
        ...

    def lines(self, encoding: str) -> Iterator[str]:
        """Its text with line ends as they are; what is no text in the encoding becomes U+FFFD."""
        ...

    def open_binary(self) -> BinaryIO:
        """Its bytes, unpacked."""
        ...


class RegisterSource(Protocol):
    """A format in which a register is published."""

    @property
    def code(self) -> str:
        """Its name on the command line: ``irs-bmf``."""
        ...

    @property
    def registry_code(self) -> str:
        """The registry whose numbers it holds."""
        ...

    @property
    def lists_organisations(self) -> bool:
        """Whether its entries are bodies; else they say more of bodies that another source lists."""
        ...

    @property
    def unverified(self) -> bool:
        """Written from the layout alone, never run on a real file: nothing is decided by it without a person."""
        ...

    @property
    def repeats_numbers(self) -> bool:
        """Whether several rows may tell of one number; their facts are then kept as one entry, in order."""
        ...

    @property
    def reads_files_together(self) -> bool:
        """Whether the files of a load are tables of one extract and read together; else each is read by itself."""
        ...

    @property
    def ignored_columns(self) -> frozenset[str]:
        """The facts that move without the body having changed: kept in history, told to nobody."""
        ...

    @property
    def canary_numbers(self) -> frozenset[str]:
        """Keys of numbers of which one at least is in every whole file; a load of all parts without any is refused."""
        ...

    def read(self, files: Sequence[SourceFile]) -> Iterator[SourceRow]:
        """The rows, one at a time, in bounded memory. Raises ImportRefused when a needed column is missing."""
        ...


@runtime_checkable
class DatedSource(Protocol):
    """A source whose files say inside of which day they are."""

    def data_date(self, files: Sequence[SourceFile]) -> datetime | None:
        """That day (00:00 UTC), read from the first row; None when it says none. Raises ImportRefused."""
        ...


@runtime_checkable
class RegistryDeclaringSource(Protocol):
    """A source that may bring its registry with it."""

    @property
    def declared_registry(self) -> DeclaredRegistry | None:
        """Its registry, where no other source has its numbers; it is entered before the first load."""
        ...
