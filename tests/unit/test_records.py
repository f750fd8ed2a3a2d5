"""Records: a dataclass with slots, as quick to make as if it were not frozen."""

from dataclasses import replace
from uuid import UUID

import pytest

from almoner.kit.records import statically_frozen_dataclass


@statically_frozen_dataclass
class Gift:
    """One."""

    id: UUID
    minor: int


def test_records_are_values_with_slots() -> None:
    gift = Gift(UUID(int=1), 5)
    assert gift == Gift(UUID(int=1), 5) != Gift(UUID(int=2), 5)
    assert replace(gift, minor=6) == Gift(UUID(int=1), 6)
    with pytest.raises(AttributeError):
        gift.other = 1  # type: ignore[attr-defined]


def test_the_type_checker_holds_them_frozen() -> None:
    gift = Gift(UUID(int=1), 5)
    gift.minor = 6  # type: ignore[misc]  # without the error that is expected here, mypy refuses this file
