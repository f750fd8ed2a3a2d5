"""What everything in Stripe's account is made of: members, names, and the errors that it answers."""

from itertools import count
from typing import Any

Thing = dict[str, Any]
_numbers = count(1)


class Refusal(Exception):
    """An error as Stripe answers it."""

    def __init__(self, status: int, message: str, *, kind: str = "invalid_request_error", **more: Any) -> None:
        super().__init__(message)
        self.status = status
        self.body = {"error": {"type": kind, "message": message, **more}}


def new_id(prefix: str) -> str:
    """A name as Stripe gives it."""
    return f"{prefix}_{next(_numbers):014d}Stub"


def known(things: dict[str, Thing], number: str) -> Thing:
    """One of them. Raises Refusal."""
    if number not in things:
        raise Refusal(404, f"No such object: '{number}'", code="resource_missing", param="id")
    return things[number]
