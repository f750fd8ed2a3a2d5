"""Test values of the sandbox in an agent's firstName (spec 4.11)."""

from collections.abc import Mapping
from typing import Final, Literal

from almoner.validation.agents.domain import AgentRejection

ACCEPTED: Final = "accept"
Action = AgentRejection | Literal["accept"]

_REJECTED: Final[tuple[AgentRejection, ...]] = (
    "validation_request_failed",
    "user_verification_expired",
    "user_failed_percent_review",
    "reapply",
    "fake_email_used",
    "no_online_presence",
    "nonprofit_association_expired",
    "other",
)
ACTIONS: Final[Mapping[str, Action]] = {"test_accept": ACCEPTED, **{f"test_reject_{code}": code for code in _REJECTED}}


def find_sandbox_action(first_name: str) -> Action | None:
    """The sandbox action that a first name asks for; None for an ordinary name."""
    return ACTIONS.get(first_name)
