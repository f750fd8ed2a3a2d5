"""Test value of the sandbox in the name of an uploaded file."""

from typing import Final

INFECTED: Final = "test_infected"
_THREAT: Final = "Sandbox.Test.Value"


def find_simulated_threat(file_name: str | None) -> str | None:
    """The simulated threat that a file name asks for; None for an ordinary name."""
    return _THREAT if (file_name or "").partition(".")[0] == INFECTED else None
