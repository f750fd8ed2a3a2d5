"""`almoner keys` as an administrator types it."""

from pathlib import Path
from typing import Any

import pytest

from almoner.platform.audit import log as audit
from tests.support.service import Service, Tenant
from tests.support.terminal import Type, terminal


@pytest.fixture
def almoner(service: Service, tmp_path: Path) -> Type:
    """An administrator's terminal."""
    return terminal(service, tmp_path, "administrator")


@pytest.fixture
def partner(service: Service, tenant: Tenant) -> str:
    """The partner as commands name it."""
    return service.db.deployment.ids.encode("partner", tenant.partner.id)


async def recorded(service: Service, tenant: Tenant) -> list[tuple[str, str, Any]]:
    """What the audit log says: action, subject, details; oldest first."""
    async with service.db.read() as tx:
        entries = await audit.list_entries(tx, tenant.partner.id)
    return [(entry.action, entry.subject, entry.details) for entry in reversed(entries)]


def word(printed: str, title: str) -> str:
    """What stands after a title."""
    return next(line.split()[1] for line in printed.splitlines() if line.startswith(f"{title} "))


async def test_v8_what_is_done_to_keys_is_told_as_pages_tell_it(
    service: Service, tenant: Tenant, almoner: Type, partner: str
) -> None:
    status, made = await almoner("keys", "create", "--partner", partner, "--name", "till", "--scope", "users:read")
    assert status == 0, made
    status, replaced = await almoner("keys", "rotate", word(made, "key"), "--overlap-hours", "2")
    assert status == 0, replaced
    for _ in range(2):  # the second time there is nothing left to end
        assert (await almoner("keys", "revoke", word(made, "key")))[0] == 0
    reported = {"kind": "secret", "scopes": ["users:read"]}
    assert await recorded(service, tenant) == [
        ("key.created", word(made, "key"), reported),
        ("key.rotated", word(made, "key"), {**reported, "successor": word(replaced, "key")}),
        ("key.revoked", word(made, "key"), reported),
    ]
    assert await almoner("keys", "rotate", word(made, "key")) == (
        1,
        "this key has expired or been revoked. Create a new one\n",
    )
    status, refused = await almoner("keys", "rotate", word(replaced, "key"), "--overlap-hours", "169")
    assert (status, "at most" in refused or "0 to 7 days" in refused) == (1, True)
    for hours in ("nan", "inf", "1e300"):
        status, refused = await almoner("keys", "rotate", word(replaced, "key"), "--overlap-hours", hours)
        assert (status, "--overlap-hours must be a number of hours up to 168" in refused) == (2, True), refused


async def test_k6_all_scopes_that_no_route_asks_for_are_told_at_once(
    service: Service, tenant: Tenant, almoner: Type, partner: str
) -> None:
    add = ("keys", "create", "--partner", partner, "--name", "till")
    status, reported = await almoner(*add, "--scope", "user:read", "--scope", "users:read", "--scope", "donation:read")
    assert (status, reported.startswith("scopes: unknown scope: donation:read, user:read. Choose from: *, ")) == (
        1,
        True,
    ), reported
    status, reported = await almoner(*add, "--kind", "publishable", "--scope", "users:read")
    assert (status, reported) == (1, "scopes: a publishable key cannot have users:read\n")
    status, reported = await almoner(*add, "--kind", "scim", "--scope", "users:read")
    assert (status, reported) == (1, "scopes: a SCIM key can only have scim_api, not users:read\n")
    status, reported = await almoner(*add[:-1], " ", "--scope", "x")
    assert reported.startswith("name: enter 1 to 100 characters\nscopes: unknown scope: x. "), reported
    assert await recorded(service, tenant) == []
    assert (await almoner(*add, "--scope", "sandbox_clock"))[0] == 0  # by name, by an administrator (settled 9)
