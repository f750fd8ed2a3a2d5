"""What a register's reader gives; one adapter for each format."""

from collections.abc import Iterable, Iterator
from typing import Protocol

from almoner.nonprofits.registers.domain import BadRow, Entry


class RegisterSource(Protocol):
    """A format in which a register is published."""

    @property
    def code(self) -> str:
        """Its name on the command line: ``irs-bmf``."""
        ...

    @property
    def registry_code(self) -> str:
        """The registry whose entries it holds."""
        ...

    @property
    def encoding(self) -> str:
        """The character encoding of its files."""
        ...

    def read(self, lines: Iterable[str]) -> Iterator[Entry | BadRow]:
        """The rows of one file, in its order, one at a time. Raises ImportRefused when a needed column is missing."""
        ...
