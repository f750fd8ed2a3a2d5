"""A person in one realm, and their roles."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final, Literal
from uuid import UUID

from almoner.kit.errors import IncorrectParams
from almoner.platform.database.transactions import Partner

MemberRole = Literal["owner", "developer", "reviewer", "finance", "support", "read_only"]
OperatorRole = Literal["reviewer", "finance", "administrator"]
Role = Literal["owner", "developer", "reviewer", "finance", "support", "read_only", "administrator"]

MEMBER_ROLES: Final[tuple[MemberRole, ...]] = ("owner", "developer", "reviewer", "finance", "support", "read_only")
OPERATOR_ROLES: Final[tuple[OperatorRole, ...]] = ("reviewer", "finance", "administrator")

LONGEST_NAME: Final = 255
MAX_TYPED_NAME: Final = 2048
"""Longer text cannot be a user name. The limit also bounds the quadratic cost of case folding."""
"""Characters of a userName."""

Profile = Mapping[str, Any]
"""A SCIM User (RFC 7643) without id, meta, groups and password, by the RFC's attribute names."""


@dataclass(frozen=True, slots=True)
class Realm:
    """The scope of people: a partner (its members) or the deployment (its operators).

    ``id`` is the partner's, all zeros for operators. Nothing links people of two realms: the same email in both is two
    people.
    """

    id: UUID

    @property
    def partner(self) -> Partner | None:
        """The partner; None for the operators' realm."""
        return Partner(self.id) if self.id.int else None

    @property
    def roles(self) -> tuple[Role, ...]:
        """The roles that exist in this realm."""
        return MEMBER_ROLES if self.id.int else OPERATOR_ROLES

    @property
    def person_id_type(self) -> str:
        """The identifier type of this realm's people (settled 1)."""
        return "member" if self.id.int else "operator"


OPERATORS: Final = Realm(UUID(int=0))


def member_realm(partner: Partner) -> Realm:
    """The realm of a partner's members."""
    return Realm(partner.id)


@dataclass(frozen=True, slots=True)
class Person:
    """One person. ``roles``: all roles, whether granted directly, by single sign-on or by groups."""

    id: UUID
    realm: Realm
    profile: Profile
    active: bool
    version: int
    created_at: datetime
    updated_at: datetime
    roles: frozenset[Role] = frozenset()

    @property
    def user_name(self) -> str:
        """The user name for signing in, as written; compared without regard to case."""
        return str(self.profile["userName"])

    @property
    def email(self) -> str | None:
        """The address for emails: the primary one, else the first."""
        given = [one for one in self.profile.get("emails") or () if one.get("value")]
        chosen = next((one for one in given if one.get("primary")), given[0] if given else None)
        return str(chosen["value"]) if chosen else None

    @property
    def display_name(self) -> str:
        """The name that pages and emails show."""
        name = self.profile.get("name") or {}
        whole = " ".join(part for part in (name.get("givenName"), name.get("familyName")) if part)
        return str(self.profile.get("displayName") or name.get("formatted") or whole or self.user_name)

    @property
    def language(self) -> str | None:
        """The person's chosen language, or the one in their directory: an RFC 5646 tag (RFC 7643 4.1.1)."""
        chosen = self.profile.get("preferredLanguage")
        return chosen if isinstance(chosen, str) and chosen else None

    @property
    def time_zone(self) -> str | None:
        """The person's IANA time zone, such as ``Europe/Berlin``."""
        chosen = self.profile.get("timezone")
        return chosen if isinstance(chosen, str) and chosen else None

    def has_role(self, *roles: Role) -> bool:
        """Whether the person is active and has one of the roles."""
        return self.active and not self.roles.isdisjoint(roles)


class UserNameTaken(IncorrectParams):
    message = "This userName is already taken"


class NoSuchPerson(LookupError):
    """There is no such person in this realm."""


def ensure_roles_unchanged(
    expected_current_roles: Iterable[str] | None, current_roles: Iterable[Role], wanted_roles: Iterable[Role]
) -> None:
    """Check that the roles are those that a page showed, so that nobody undoes the change of somebody else.

    ``expected_current_roles``: None if they were not shown. Raises IncorrectParams.
    """
    now = sorted(current_roles)
    if expected_current_roles is not None and sorted(expected_current_roles) != now != sorted(wanted_roles):
        raise IncorrectParams(
            f"roles: the roles have changed since you opened this page. They are now: {', '.join(now) or 'none'}. "
            "Check your selection, then save it again"
        )


def clean_display_name(name: str | None) -> str | None:
    """A person's name on one line; None if there is none. Raises IncorrectParams."""
    cleaned = " ".join((name or "").split()) or None
    if cleaned and len(cleaned) > LONGEST_NAME:
        raise IncorrectParams(f"name: must be {LONGEST_NAME} characters or fewer")
    return cleaned


def build_profile(user_name: str, *, email: str | None = None, name: str | None = None) -> dict[str, Any]:
    """The SCIM profile of an invited person: userName, displayName and email address."""
    profile: dict[str, Any] = {"userName": user_name, "active": True}
    if name:
        profile["displayName"] = name
    if email:
        profile["emails"] = [{"value": email, "primary": True}]
    return profile
