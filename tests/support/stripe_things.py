"""Parts of Stripe's objects: members, IDs, and errors."""

from itertools import count
from typing import Any

Thing = dict[str, Any]
_numbers = count(1)


class Refusal(Exception):
    """An error response of Stripe."""

    def __init__(self, status: int, message: str, *, kind: str = "invalid_request_error", **more: Any) -> None:
        super().__init__(message)
        self.status = status
        self.body = {"error": {"type": kind, "message": message, **more}}


def new_id(prefix: str) -> str:
    """An ID in Stripe's format."""
    return f"{prefix}_{next(_numbers):014d}Stub"


def known(things: dict[str, Thing], number: str) -> Thing:
    """Find an object. Raises Refusal."""
    if number not in things:
        raise Refusal(404, f"No such object: '{number}'", code="resource_missing", param="id")
    return things[number]
