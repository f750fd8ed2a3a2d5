"""`almoner members` as an administrator types it."""

from pathlib import Path
from typing import Any

import pyotp
import pytest

from almoner.access.credentials import service as credentials
from almoner.access.credentials.service import authenticators, recovery
from almoner.access.members import service as members
from almoner.access.people import service as people
from almoner.access.people.domain import Person, build_profile, member_realm
from almoner.access.sign_ins import service as sign_ins
from almoner.access.sign_ins.domain import Browser
from almoner.access.sign_ins.service import links
from almoner.platform.audit import log as audit
from tests.support.people import person
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


async def found(service: Service, tenant: Tenant, name: str) -> Person | None:
    """The member with a user name."""
    async with service.db.read() as tx:
        return await people.find_by_user_name(tx, member_realm(tenant.partner), name)


async def recorded(service: Service, tenant: Tenant) -> list[tuple[str, str, Any]]:
    """What the audit log says: kind of actor, action, details; oldest first."""
    async with service.db.read() as tx:
        entries = await audit.list_entries(tx, tenant.partner.id)
    return [(entry.actor.kind, entry.action, entry.details) for entry in reversed(entries)]


async def test_an_administrator_adds_the_first_owner_who_is_mailed_and_whose_link_is_printed_once(
    service: Service, tenant: Tenant, almoner: Type, partner: str
) -> None:
    words = ("members", "add", partner, "amina@example.org", "--name", "Amina El-Sayed", "--role", "owner")
    status, printed = await almoner("members", "add", partner, "amina@example.org", "--name", "A" * 256)
    assert (status, printed) == (1, "name: must be 255 characters or fewer\n")
    status, printed = await almoner(*words, "--role", "finance", "--user-name", "amina")
    assert status == 0, printed
    person = await found(service, tenant, "AMINA")
    assert person is not None
    assert person.roles == {"owner", "finance"}
    assert (person.email, person.display_name) == ("amina@example.org", "Amina El-Sayed")
    link = next(line.split()[1] for line in printed.splitlines() if line.startswith("invitation"))
    assert link.startswith(f"{service.db.deployment.base_urls.pages}/account/{partner}/invitation?token=")
    async with service.db.read() as tx:
        opened, invited = await links.get_valid_link(tx, link.partition("token=")[2], "invitation")
        # The command lives in real time, and the service of the tests in its own: the mail waits for its moment.
        waiting = await tx.fetchval(
            "select count(*) from job where kind = 'security_emails.send' and payload ->> 'link' = $1", str(opened.id)
        )
    assert (invited.id, (opened.expires_at - opened.created_at).days) == (person.id, 7)
    assert waiting == 1
    assert await recorded(service, tenant) == [
        ("operator", "member.invited", {"roles": ["finance", "owner"]}),
        ("operator", "invitation.viewed", None),
    ]
    status, printed = await almoner(*words)
    assert (status, "is taken" in printed) == (0, False)  # another user name: the e-mail address
    assert await almoner(*words) == (1, "userName 'amina@example.org' is taken\n")


async def test_roles_are_changed_and_members_end_and_come_back(
    service: Service, tenant: Tenant, almoner: Type, partner: str
) -> None:
    for name, role in (("ann@example.org", "owner"), ("bo@example.org", "developer")):
        assert (await almoner("members", "add", partner, name, "--role", role))[0] == 0
    status, printed = await almoner("members", "list", partner)
    assert (status, len(printed.splitlines())) == (0, 3)
    assert "invited" in printed
    both = ("--role", "finance", "--role", "reviewer")
    assert await almoner("members", "set-roles", partner, "bo@example.org", *both) == (
        0, "Roles of bo@example.org: finance, reviewer.\n",
    )  # fmt: skip
    assert await almoner("members", "set-roles", partner, "bo@example.org", "--none") == (
        0, "Roles of bo@example.org: none.\n",
    )  # fmt: skip
    assert (await almoner("members", "set-roles", partner, "bo@example.org"))[0] == 2
    last = (1, "this is the only active owner. Give the owner role to someone else first\n")
    assert await almoner("members", "deactivate", partner, "ann@example.org") == last
    assert await almoner("members", "remove", partner, "ann@example.org") == last
    assert await almoner("members", "set-roles", partner, "ann@example.org", "--role", "read_only") == last
    assert await almoner("members", "deactivate", partner, "bo@example.org") == (
        0,
        "bo@example.org has been deactivated.\n",
    )
    person = await found(service, tenant, "bo@example.org")
    assert person is not None
    assert not person.active
    assert (await almoner("members", "resend-invitation", partner, "bo@example.org"))[0] == 1
    assert await almoner("members", "activate", partner, "bo@example.org") == (0, "bo@example.org is active.\n")
    status, printed = await almoner("members", "resend-invitation", partner, "bo@example.org")
    assert (status, "/invitation?token=" in printed) == (0, True)
    name = service.db.deployment.ids.encode("member", person.id)
    assert await almoner("members", "remove", partner, name) == (0, f"{name} has been removed.\n")
    assert await almoner("members", "remove", partner, name) == (
        1, f"There is no {name}: see `almoner operators list` and `almoner members list`.\n",
    )  # fmt: skip
    assert [what for _, what, _ in await recorded(service, tenant) if not what.startswith("invitation")] == [
        "member.invited", "member.invited", "member.roles_changed", "member.roles_changed", "member.deactivated",
        "member.activated", "member.invited_again", "member.removed",
    ]  # fmt: skip


async def test_a_name_and_an_address_are_put_right(
    service: Service, tenant: Tenant, almoner: Type, partner: str
) -> None:
    assert (await almoner("members", "add", partner, "typo@example.org"))[0] == 0
    assert (await almoner("members", "update", partner, "typo@example.org"))[0] == 2
    assert await almoner("members", "update", partner, "typo@example.org", "--email", "bo") == (
        1, "email: 'bo' is not a valid email address\n",
    )  # fmt: skip
    changed = await almoner(
        "members", "update", partner, "typo@example.org", "--email", "bo@example.org", "--name", "Bo"
    )
    assert changed == (0, "bo@example.org is Bo, email bo@example.org.\n")
    assert await almoner("members", "update", partner, "bo@example.org", "--name", "Bo B.") == (
        0, "bo@example.org is Bo B., email bo@example.org.\n",
    )  # fmt: skip
    reported = [(kind, details) for kind, what, details in await recorded(service, tenant) if what == "member.changed"]
    assert reported == [("operator", {"changed": ["name", "email"]}), ("operator", {"changed": ["name"]})]


async def test_a_group_is_mapped_to_a_role(service: Service, tenant: Tenant, almoner: Type, partner: str) -> None:
    async with service.db.write() as tx:
        group = await members.create_group(tx, tenant.partner, {"displayName": "Bookkeepers"})
        name = tx.ids.encode("group", group.id)
    assert await almoner("members", "map-group", partner, name, "finance") == (
        0,
        "Bookkeepers is mapped to finance.\n",
    )
    status, printed = await almoner("members", "groups", partner)
    assert (status, printed.splitlines()[1].split()) == (0, [name, "Bookkeepers", "finance", "0"])
    assert (await almoner("members", "map-group", partner, name, "administrator"))[0] == 2
    assert await almoner("members", "map-group", partner, name, "none") == (
        0, "Bookkeepers is mapped to no role.\n",
    )  # fmt: skip
    assert await recorded(service, tenant) == [
        ("operator", "group.mapped", {"was": None, "role": "finance"}),
        ("operator", "group.mapped", {"was": "finance", "role": None}),
    ]


async def test_who_is_no_administrator_changes_nobody(
    service: Service, tenant: Tenant, tmp_path: Path, partner: str
) -> None:
    finance = terminal(service, tmp_path, "finance")
    status, printed = await finance("members", "add", partner, "eve@example.org", "--role", "owner")
    assert (status, "lacks the role administrator" in printed) == (1, True)
    nobody = terminal(service, tmp_path)
    status, printed = await nobody("members", "add", partner, "eve@example.org", "--role", "owner")
    assert (status, "needs an operator token" in printed) == (1, True)
    assert await found(service, tenant, "eve@example.org") is None


async def test_v8_no_command_prints_a_link_to_an_account_that_was_used(
    service: Service, tenant: Tenant, almoner: Type, partner: str
) -> None:
    await person(service, member_realm(tenant.partner), "dora@example.org")
    for command in ("reset-second-factor", "resend-invitation"):
        status, printed = await almoner("members", command, partner, "dora@example.org")
        assert (status, "token=" in printed) == (0, False), printed
    assert "invitation.viewed" not in [what for _, what, _ in await recorded(service, tenant)]
    assert (await almoner("members", "update", partner, "dora@example.org", "--email", "eve@example.org"))[0] == 0
    for command in ("reset-second-factor", "resend-invitation"):
        status, printed = await almoner("members", command, partner, "eve@example.org")
        assert (status, "was changed less than 7 days ago" in printed) == (1, True), printed


async def test_who_lost_the_second_factor_signs_in_without_it_once_and_is_told(
    service: Service, tenant: Tenant, almoner: Type, partner: str
) -> None:
    async with service.db.write() as tx:
        person = await people.create(tx, member_realm(tenant.partner), build_profile("cleo", email="cleo@example.org"))
        setup = await authenticators.begin_setup(tx, person, "tests")
        code = pyotp.TOTP(setup.secret.replace(" ", "")).at(tx.real_now)
        assert await authenticators.confirm_setup(
            tx, person, code, credentials.build_audit_context_of_person(tx, person, None)
        )
        await recovery.create_recovery_codes(tx, person, credentials.build_audit_context_of_person(tx, person, None))
        entered = await sign_ins.begin_sign_in(tx, person, "password_totp", Browser("192.0.2.1"))
    status, printed = await almoner("members", "reset-second-factor", partner, "cleo")
    assert status == 0, printed
    assert "token=" not in printed, "the mailbox is a part of the proof"
    async with service.db.read() as tx:
        left = await credentials.get_authentication_factors(tx, person)
        assert (left.has_second_factor, left.recovery_codes) == (False, 0)
        assert await sign_ins.find_sign_in_by_secret(tx, person.realm, entered.session_secret) is None
        kinds = await tx.fetch(
            "select payload ->> 'kind' as kind from job "
            "where kind = 'security_emails.send' and payload ->> 'person' = $1",
            str(person.id),
        )
    assert {"second_factor_reset", "invitation"} <= {row["kind"] for row in kinds}
    assert ("operator", "second_factor.reset", None) in await recorded(service, tenant)
