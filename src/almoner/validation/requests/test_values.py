"""Test values of the sandbox in a validation request's name (spec 4.11)."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final, Literal

from almoner.validation.requests.domain import RejectionReason

Action = Literal["accept"] | RejectionReason
"""Accept, or the reason to reject."""

ACTIONS: Final[Mapping[str, Action]] = MappingProxyType(
    {
        "test_accept": "accept",
        "test_reject_other": "other",
        "test_reject_not_eligible": "not_eligible",
        "test_reject_incorrect_documentation": "incorrect_documentation",
        "test_reject_not_attributable_to_registry": "not_attributable_to_registry",
    }
)


def find_sandbox_action(name: str) -> Action | None:
    """The sandbox action that a name asks for; None for an ordinary name."""
    return ACTIONS.get(name)
