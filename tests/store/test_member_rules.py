"""Members and their keys: what is refused before anything is changed."""

from datetime import timedelta

import pytest

from almoner.access.credentials.domain import AuditContext
from almoner.access.keys.service import NoSuchKey
from almoner.access.members import service as members
from almoner.access.members.domain import MAX_DAILY_ADDRESSES, MemberNotInvitable, TooManyInvitations
from almoner.access.members.service import api_keys
from almoner.access.people import service as people
from almoner.access.people.domain import build_profile, member_realm
from almoner.kit.errors import IncorrectParams
from almoner.platform.audit import log as audit
from almoner.platform.audit.log import Actor
from almoner.platform.database.transactions import Tx
from almoner.platform.http.caller import PERSONAL
from tests.support.members import member
from tests.support.service import Service, Tenant
from tests.support.terminal import BY

HOUR = timedelta(hours=1)


async def actions(tx: Tx, tenant: Tenant, subject: str) -> list[str]:
    """What was recorded about a subject, oldest first."""
    entries = await audit.list_entries(tx, tenant.partner.id, limit=1000)
    return [entry.action for entry in reversed(entries) if entry.subject == subject]


async def test_members_invite_a_hundred_addresses_a_day_and_administrators_any(
    service: Service, tenant: Tenant
) -> None:
    owner = await member(service, tenant, "owner")
    async with service.db.write() as tx:
        hers = AuditContext(Actor("member", tx.ids.encode("member", owner.id)), None)
        for _ in range(MAX_DAILY_ADDRESSES - 1):
            await audit.record_entry(tx, tenant.partner.id, hers.actor, "member.changed", hers.actor.id)
        await members.invite_member(tx, tenant.partner, hers, "the.last@example.org")
        with pytest.raises(TooManyInvitations):
            await members.invite_member(tx, tenant.partner, hers, "one.more@example.org")
        assert await people.find_by_user_name(tx, member_realm(tenant.partner), "one.more@example.org") is None
        await members.invite_member(tx, tenant.partner, BY, "by.us@example.org")


async def test_nobody_is_invited_again_who_may_not_or_cannot_come(service: Service, tenant: Tenant) -> None:
    partner, realm = tenant.partner, member_realm(tenant.partner)
    await member(service, tenant, "owner")
    async with service.db.write() as tx:
        mia, _ = await members.invite_member(tx, partner, BY, "mia@example.org")
        for _ in range(2):
            assert not (await members.deactivate_member(tx, partner, BY, mia.id)).active
        with pytest.raises(MemberNotInvitable, match="deactivated"):
            await members.resend_invitation(tx, partner, BY, mia.id)
        for _ in range(2):
            assert (await members.activate_member(tx, partner, BY, mia.id)).active
        await members.resend_invitation(tx, partner, BY, mia.id)
        assert await actions(tx, tenant, tx.ids.encode("member", mia.id)) == [
            "member.invited", "member.deactivated", "member.activated", "member.invited_again",
        ]  # fmt: skip
        unreachable = await people.create(tx, realm, build_profile("unreachable"), [])
        with pytest.raises(MemberNotInvitable, match="no email address"):
            await members.resend_invitation(tx, partner, BY, unreachable.id)


async def test_k4_only_an_owner_makes_or_renews_a_key_that_shows_donors(service: Service, tenant: Tenant) -> None:
    partner, scopes = tenant.partner, frozenset({"donations:read", PERSONAL})
    async with service.db.write() as tx:
        with pytest.raises(IncorrectParams, match="only an owner can grant"):
            await api_keys.create(tx, partner, BY, "secret", "shop", scopes)
        old, _ = await api_keys.create(tx, partner, BY, "secret", "shop", scopes, may_grant_donor_data=True)
        with pytest.raises(IncorrectParams, match="only an owner can rotate"):
            await api_keys.rotate(tx, BY, old, HOUR)
        assert (await api_keys.get(tx, partner, old.id)).expires_at is None
        new, _ = await api_keys.rotate(tx, BY, old, HOUR, may_grant_donor_data=True)
        assert new.scopes == scopes
        for seen in (new, new, await api_keys.get(tx, partner, new.id)):  # two people press the button at once
            await api_keys.revoke(tx, BY, seen)
        with pytest.raises(IncorrectParams, match="expired or been revoked"):
            await api_keys.rotate(tx, BY, await api_keys.get(tx, partner, new.id), HOUR, may_grant_donor_data=True)
        assert await actions(tx, tenant, tx.ids.encode("apikey", new.id)) == ["key.revoked"]


async def test_k5_a_key_is_of_its_partner_alone(service: Service, tenant: Tenant) -> None:
    other = await service.tenant()
    async with service.db.write() as tx:
        key, _ = await api_keys.create(tx, other.partner, BY, "publishable", "shop", frozenset())
        with pytest.raises(NoSuchKey):
            await api_keys.get(tx, tenant.partner, key.id)
        with pytest.raises(NoSuchKey):
            await api_keys.get(tx, tenant.partner, tx.new_id())
