"""Where people of one realm sign in, and what their pages are called."""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from almoner.access.people.domain import OPERATORS, Realm, Role
from almoner.kit.errors import Problem

MEMBERS_HOME: Final = "/account"
OPERATORS_HOME: Final = "/operator"
HOMES: Final = ("/account/{partner}", OPERATORS_HOME)
"""The route paths of "your account" in both realms."""

DASHBOARD_HOME: Final = "/home"
"""The start page of members with a role, relative to their account's path."""

OPERATOR_START_PAGE: Final = "/desk"
"""The start page of operators, relative to their account's path."""

PROVIDER_ACCOUNT: Final = "/provider-account"
"""The page about the member's own single sign-on account."""

_OWN: Final = re.compile(r"[A-Za-z0-9/_.~-]*(\?[A-Za-z0-9/_.~=&%+*:,@-]*)?")

ROLE_NAMES: Final[dict[Role, str]] = {
    "owner": "owner",
    "developer": "developer",
    "reviewer": "reviewer",
    "finance": "finance",
    "support": "support",
    "read_only": "read only",
    "administrator": "administrator",
}


@dataclass(frozen=True, slots=True)
class AccountPortal:
    """The signed-in pages of one realm. ``name`` is part of cookie names; ``home`` is the path of the account page.

    ``pause_reason``: why operators paused the partner; empty while it is not paused.
    """

    realm: Realm
    name: str
    title: str
    home: str
    pause_reason: str = ""

    @property
    def session_cookie_name(self) -> str:
        """The sign-in cookie's name: one for each realm, so that one browser can be signed in at two partners."""
        return f"__Host-member-{self.name}" if self.realm.partner else "__Host-operator"

    @property
    def device_cookie_name(self) -> str:
        """The name of the cookie that recognises a browser which has signed in before."""
        return f"__Host-known-{self.name}"

    @property
    def second_factor_cookie_name(self) -> str:
        """The name of the cookie between the password step and the second factor."""
        return f"__Host-second-{self.name}"

    def email_link_cookie_name(self, purpose: str) -> str:
        """The name of the cookie that replaces an emailed link's token, so that it leaves the address (H1)."""
        return f"__Host-{purpose}-{self.name}"

    def safe_redirect_path(self, next_path: str) -> str:
        """``next_path`` if it is a path of this portal, else the home page: prevents open redirects after sign-in."""
        path = next_path.partition("?")[0]
        own = path == self.home or path.startswith(self.home + "/")
        straight = "//" not in next_path and "/." not in path
        return next_path if own and straight and _OWN.fullmatch(next_path) else self.home


OPERATOR_PORTAL: Final = AccountPortal(OPERATORS, "operators", "Operators", OPERATORS_HOME)
UNKNOWN_PORTAL: Final = AccountPortal(OPERATORS, "finding", "Almoner", MEMBERS_HOME)
"""The portal of the page on which members find their partner's sign-in page; nobody is signed in here."""


def build_member_portal(realm: Realm, partner_id: str, title: str, pause_reason: str = "") -> AccountPortal:
    """The portal of a partner's members; ``partner_id`` is the partner's text ID."""
    return AccountPortal(realm, partner_id, title, f"{MEMBERS_HOME}/{partner_id}", pause_reason)


@dataclass(frozen=True, slots=True)
class NavigationLink:
    """A navigation entry.

    ``path`` is relative to the portal's home. ``roles``: who can see it (None: everybody). ``label``: its key in the
    catalogues, or, for ``for_operators``, the English text itself. ``group``: the heading above it. ``sandbox_only``:
    shown only in sandboxes.
    """

    label: str
    path: str
    roles: frozenset[Role] | None = None
    for_operators: bool = False
    group: str = ""
    sandbox_only: bool = False

    def is_visible_to(self, realm: Realm, roles: Iterable[Role]) -> bool:
        """Whether somebody in this realm with these roles sees the entry."""
        return self.for_operators == (realm.partner is None) and (
            self.roles is None or not self.roles.isdisjoint(roles)
        )


BUSY_SECONDS: Final = 3
"""Retry-After, in seconds, while too many people sign in."""

_DONE_TO_ONE: Final = ("invited", "invited_again", "roles_changed", "changed", "deactivated", "activated")
EVENT_LABELS: Final = {
    **{
        action: f"account.event.{action}"
        for action in (
            "signed_in",
            "signed_out",
            "sign_in.refused",
            "sign_in.revoked",
            "password.changed",
            "password_reset.requested",
            "authenticator.added",
            "authenticator.removed",
            "recovery_codes.created",
            "passkey.added",
            "passkey.removed",
            "passkey.counter_decreased",
            "identity.bound",
            "identity.unbound",
            "second_factor.reset",
            "invitation.viewed",
            "scim.user.created",
            "scim.user.updated",
            "scim.user.deactivated",
            "scim.user.reactivated",
        )
    },
    **{f"{kind}.{action}": f"account.event.{action}" for kind in ("member", "operator") for action in _DONE_TO_ONE},
}
"""Texts for a person's own activity list: catalogue keys by audit log action."""


@dataclass(frozen=True, slots=True)
class AccountEvent:
    """An event in the account's recent activity. ``address`` is the network address, None once it was erased."""

    label: str
    at: datetime
    address: str | None


@dataclass(frozen=True, slots=True)
class AccountSetting:
    """One setting on the account page: its label, its current state, and the page and action that change it."""

    label: str
    summary: str
    path: str
    action: str


def format_role_names(roles: Iterable[Role]) -> str:
    """Role names joined for display: "owner, finance"."""
    held = set(roles)
    return ", ".join(name for role, name in ROLE_NAMES.items() if role in held)


def problems_by_field(error: Problem, default_field: str) -> dict[str, str]:
    """An error's reasons by the form field that each one names first (``email: ...``), else under ``default_field``."""
    found: dict[str, str] = {}
    for reason in error.reasons:
        begin, colon, rest = reason.partition(": ")
        field, stated = (begin, rest) if colon and begin.isidentifier() else (default_field, reason)
        sentence = f"{stated[:1].upper()}{stated[1:].rstrip('.')}."
        found[field] = f"{found[field]} {sentence}" if field in found else sentence
    return found


@dataclass(frozen=True, slots=True)
class FormLimits:
    """How long a form may be, in bytes as posted (URL-encoded), and its maximum number of fields."""

    max_bytes: int
    max_fields: int


FORM_LIMITS: Final = FormLimits(65_536, 120)
LONG_FORM_LIMITS: Final = FormLimits(384 * 1024, 250)
"""The limits of forms with many or long texts: URL-encoded, an Arabic letter takes six bytes, a Japanese one nine."""
