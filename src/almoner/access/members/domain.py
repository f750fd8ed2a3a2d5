"""Members as their owners see them, and groups of members."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import IntEnum
from typing import Final, NamedTuple
from uuid import UUID

from almoner.access.people.domain import MemberRole, Person, Profile, Role
from almoner.kit.errors import IncorrectParams

MAX_DAILY_INVITATIONS: Final = 5
"""Maximum number of emails a day to one person who has not joined yet."""
MAX_DAILY_ADDRESSES: Final = 100
"""Maximum number of new addresses a day that a partner's members can email, which prevents spam."""
DAY: Final = timedelta(days=1)

LONGEST_GROUP_NAME: Final = 255
"""Maximum number of characters of a displayName."""


@dataclass(frozen=True, slots=True)
class GroupMember:
    """A member of a group; ``name`` is the display name, else the userName."""

    id: UUID
    name: str


@dataclass(frozen=True, slots=True)
class Group:
    """A group of a partner's members.

    ``profile``: its SCIM attributes (RFC 7643) without id, meta and members. ``role``: the role that it grants to all
    members, or None. ``members``: None if they were not loaded.
    """

    id: UUID
    partner_id: UUID
    profile: Profile
    role: MemberRole | None
    version: int
    created_at: datetime
    updated_at: datetime
    members: tuple[GroupMember, ...] | None = None

    @property
    def display_name(self) -> str:
        """The group's displayName."""
        return str(self.profile["displayName"])


@dataclass(frozen=True, slots=True)
class GroupChange:
    """The group after a change, and the people who were added and removed."""

    group: Group
    added: tuple[UUID, ...] = ()
    removed: tuple[UUID, ...] = ()


class NewMember(NamedTuple):
    """A new member and the URL of their invitation."""

    person: Person
    invitation_url: str


class MemberInvitation(NamedTuple):
    """A member who can join again. ``url``: the invitation's; None if only the member's mailbox may get it."""

    person: Person
    url: str | None


class NoSuchGroup(LookupError):
    """The partner has no group with this ID."""


@dataclass(frozen=True, slots=True)
class MembershipState:
    """A member with their roles and invitation state, as the list shows them.

    ``granted_roles``: roles given by an owner or administrator; other roles come from single sign-on and groups.
    ``joined``: the person has a sign-in method or has signed in. ``invitation_expires_at``: when the open invitation
    ends.
    """

    person: Person
    granted_roles: frozenset[Role]
    has_joined: bool
    invitation_expires_at: datetime | None

    @property
    def roles_from_groups_and_sso(self) -> frozenset[Role]:
        """Roles that come from groups or single sign-on, which this page cannot remove."""
        return self.person.roles - self.granted_roles


class OwnerStatus(IntEnum):
    """Whether a partner has an active owner who can sign in, only an invited one, or none."""

    NONE = 0
    INVITED = 1
    ARE_THERE = 2
    """An active owner has a password, a passkey or a single sign-on account."""


class LastOwnerRequired(IncorrectParams):
    """A partner's last owner cannot be removed. ``others_invited``: there are other owners, who cannot sign in yet."""

    message = "At least one member must be able to manage members"

    def __init__(self, *, others_invited: bool) -> None:
        who = "owner who can sign in" if others_invited else "owner"
        super().__init__(f"this is the only active {who}. Give the owner role to someone else first")
        self.others_invited = others_invited


class MemberNotInvitable(IncorrectParams):
    message = "This member does not need an invitation"


class TooManyInvitations(IncorrectParams):
    message = "Invitation limit reached"
