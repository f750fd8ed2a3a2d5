"""How far a partner's provider, and its directory, are believed: roles, freshness, and whose account is whose."""

from collections.abc import AsyncIterator, Callable, Sequence
from datetime import timedelta
from typing import Any

import pytest
from starlette.requests import Request
from starlette.responses import Response

from almoner.access.credentials.domain import AuditContext
from almoner.access.members import service as members
from almoner.access.people import service as people
from almoner.access.people.domain import Person, Role
from almoner.access.sign_ins import service as sign_ins
from almoner.access.sign_ins.domain import Method, NewSignIn
from almoner.access.sign_ins.service import links
from almoner.access.sso import service as sso
from almoner.access.sso.domain import (
    IdentityProviderSettings,
    InvalidIdentityProviderSettings,
    LastSignInMethodCannotBeRemoved,
    SsoRefusalReason,
)
from almoner.access.sso.service import identities
from almoner.platform.audit.log import Actor
from tests.support.hostile_openid import HostileProvider, hostile_provider
from tests.support.service import Service
from tests.support.sign_on import BROWSER, BY, Setup, entered, refused, set_up
from tests.support.signing_in import Account, member

ADMINS = {"admins": "owner", "staff": "finance"}


@pytest.fixture
async def evil(service: Service) -> AsyncIterator[HostileProvider]:
    async with hostile_provider(service.clock) as made:
        made.person |= {"groups": ["admins"]}
        yield made


@pytest.fixture
async def here(service: Service, evil: HostileProvider) -> AsyncIterator[Setup]:
    async with set_up(service) as made:
        await made.set_up(evil.url, roles=ADMINS)
        yield made


async def roles(here: Setup, one: NewSignIn) -> set[Role] | None:
    """What a sign-in lets its person do; None where it opens nothing any more."""
    async with here.service.db.single_statement() as tx:
        found = await sign_ins.find_sign_in_by_secret(tx, one.person.realm, one.session_secret)
    return set(found[1].roles) if found else None


async def begin(here: Setup, person: Person, method: Method) -> NewSignIn:
    async with here.service.db.write() as tx:
        return await sign_ins.begin_sign_in(tx, person, method, BROWSER)


async def somebody(here: Setup, *roles: Role, password: bool = False) -> Account:
    """A member with a mailbox, and a password or nothing of their own, whom the directory calls ``ada`` afterwards."""
    tenant: Any = here
    made = await member(here.service, tenant, *roles, **({} if password else {"password": None}))
    await here.change(made.person, externalId="ada")
    return made


async def test_v8_roles_from_the_provider_count_only_where_the_sign_in_was_made_there(here: Setup) -> None:
    ada = (await somebody(here, "developer")).person
    there = entered(await here.sign_in())
    assert await roles(here, there) == {"owner", "developer"}
    methods: Sequence[Method] = ("password", "password_totp", "password_recovery", "passkey")
    for method in methods:
        assert await roles(here, await begin(here, ada, method)) == {"developer"}, method


@pytest.mark.parametrize(
    "change",
    [
        {"roles": {"staff": "finance"}},
        {"roles": {}, "groups_claim": None},
        {"groups_claim": "teams"},
        {"subject_claim": "oid"},
        {"client_id": "another"},
        {"enabled": False},
    ],
)
async def test_v8_what_is_believed_otherwise_gives_no_role_and_signs_nobody_in_any_more(
    here: Setup, evil: HostileProvider, change: dict[str, Any]
) -> None:
    ada = (await somebody(here)).person
    there, elsewhere = entered(await here.sign_in()), await begin(here, ada, "passkey")
    await here.set_up(evil.url, **{"roles": ADMINS, **change})
    assert await roles(here, there) is None
    assert await roles(here, elsewhere) is not None
    assert "owner" not in (await here.find(ada)).roles
    (details,) = [details for action, details in await here.actions() if action == "provider.changed"]
    assert details["signInsEnded"] == 1


async def test_v8_removing_the_provider_ends_the_sign_ins_made_there(here: Setup) -> None:
    await somebody(here)
    there = entered(await here.sign_in())
    async with here.service.db.write() as tx:
        await sso.remove_provider(tx, BY, here.partner)
    assert await roles(here, there) is None


async def test_another_name_or_secret_of_the_provider_ends_nothing(here: Setup, evil: HostileProvider) -> None:
    await somebody(here)
    there = entered(await here.sign_in())
    await here.set_up(evil.url, roles=ADMINS, name="Other ID", secret="new", creates_members=True)
    assert "owner" in (await roles(here, there) or ())


async def test_k6_a_provider_changed_while_it_answers_is_not_believed(here: Setup, evil: HostileProvider) -> None:
    ada = (await somebody(here)).person

    async def meanwhile(request: Request) -> Response:
        evil.token_answer = None
        await here.set_up(evil.url, roles={"staff": "finance"})
        return await evil.token(request)

    evil.token_answer = meanwhile
    assert (await refused(here, here.sign_in())).reason is SsoRefusalReason.CHANGED
    assert "owner" not in (await here.find(ada)).roles


async def test_v8_a_directory_cannot_say_who_has_credentials_of_their_own(here: Setup) -> None:
    victim = await somebody(here, password=True)
    no = await refused(here, here.sign_in())
    assert no.reason is SsoRefusalReason.OTHER_WAY_IN
    assert "on your account page" in no.text
    assert await here.count("sign_on_identity") == 0
    assert await roles(here, await victim.enter()) == {"developer"}


async def test_v8_owners_are_mailed_when_an_operator_changes_the_provider(here: Setup) -> None:
    owner = await somebody(here, "owner")
    by = AuditContext(Actor("operator", "sandbox_operator_ada"), None)
    wanted = IdentityProviderSettings("ID", "https://id.example.org", "almoner", "")
    async with here.service.db.write() as tx:
        await sso.save_provider(tx, by, here.partner, wanted)
        await sso.remove_provider(tx, by, here.partner)
    told = [text for subject, text in await owner.mails() if subject.endswith("was changed")]
    assert sorted("Issuer: none" in text for text in told) == [False, True], "one of the change, one of the removal"


async def test_v8_nor_who_had_credentials_until_they_were_reset(here: Setup) -> None:
    victim = await somebody(here, password=True)
    async with here.service.db.write() as tx:
        await members.reset_credentials_and_reinvite(tx, here.partner, BY, victim.person.id)
    assert (await refused(here, here.sign_in())).reason is SsoRefusalReason.OTHER_WAY_IN
    assert await here.count("sign_on_identity") == 0


async def test_v8_a_directory_cannot_say_who_is_a_granted_owner(here: Setup) -> None:
    owner = await somebody(here, "owner")
    no = await refused(here, here.sign_in())
    assert (no.reason, "link in your invitation" in no.text) == (SsoRefusalReason.OTHER_WAY_IN, True)
    async with here.service.db.write() as tx:
        link = await links.send_invitation(tx, owner.person)
    assert entered(await here.sign_in("invitation", link.id)).person.id == owner.person.id


async def test_v8_one_subject_of_an_issuer_is_one_member(here: Setup, evil: HostileProvider) -> None:
    victim = await somebody(here)
    await here.sign_in()
    await here.change(victim.person, externalId="mallory")
    evil.person |= {"sub": "mallory"}
    assert (await refused(here, here.sign_in())).reason is SsoRefusalReason.OTHER_WAY_IN
    here.service.clock.advance_wall(minutes=2)  # refusals of a minute are recorded once
    async with here.service.db.write() as tx:
        link = await links.send_invitation(tx, victim.person)
    assert (await refused(here, here.sign_in("invitation", link.id))).reason is SsoRefusalReason.OTHER_PERSON
    async with here.service.db.write() as tx:
        with pytest.raises(Exception, match="sign_on_identity_of_one"):
            await tx.execute(
                "insert into sign_on_identity select partner_id, issuer, 'mallory', person_id, bound_by, bound_at, "
                "last_used_at from sign_on_identity where partner_id = $1",
                here.partner.id,
            )


async def test_v8_a_mail_tells_of_an_account_at_the_provider_that_was_connected(here: Setup) -> None:
    ada = await somebody(here)
    await here.sign_in()
    await here.sign_in()
    mails = [text for subject, text in await ada.mails() if "account connected" in subject]
    assert len(mails) == 1
    assert BROWSER.ip_address in mails[0]


@pytest.mark.parametrize(
    ("said", "ago"),
    [(lambda now: now - 1200, 1200), (lambda now: now - 30, 30), (lambda now: now + 50, 0), (lambda _: None, None)],
)
async def test_v8_a_sign_in_at_the_provider_is_a_proof_of_when_they_signed_in_there(
    here: Setup, evil: HostileProvider, said: Callable[[int], int | None], ago: int | None
) -> None:
    await somebody(here)
    real_now = here.service.clock.real_now()
    evil.claims = {"auth_time": said(int(real_now.timestamp()))}
    started = entered(await here.sign_in()).sign_in
    assert sign_ins.is_recently_authenticated(started, started.created_at) == (ago is not None and ago < 600)
    if ago is not None:
        assert timedelta(seconds=ago - 5) <= started.created_at - started.authenticated_at <= timedelta(seconds=ago + 5)
    async with here.service.db.read() as tx:
        assert (
            await tx.fetchval("select authenticated_at from sign_in where id = $1", started.id)
            == started.authenticated_at
        )


@pytest.mark.parametrize(
    ("said", "reason"),
    [
        ({"sub": "a\0da"}, SsoRefusalReason.TOKEN),
        ({"preferred_username": "a\0da"}, SsoRefusalReason.UNKNOWN),
    ],
)
async def test_what_no_database_can_hold_names_nobody(
    here: Setup, evil: HostileProvider, said: dict[str, Any], reason: SsoRefusalReason
) -> None:
    await here.set_up(evil.url, roles=ADMINS, creates_members=True)
    evil.person |= {"preferred_username": "ada", **said}
    assert (await refused(here, here.sign_in())).reason is reason


async def test_what_no_database_can_hold_beside_the_subject_is_left_out(here: Setup, evil: HostileProvider) -> None:
    await here.set_up(evil.url, roles=ADMINS, creates_members=True)
    evil.person |= {"preferred_username": "ada", "name": "A\0da", "groups": ["ad\0mins", "staff"]}
    made = entered(await here.sign_in()).person
    assert made.display_name == "ada"
    assert made.roles == {"finance"}


@pytest.mark.parametrize("wrong", [{"roles": {"a\0b": "finance"}}, {"groups_claim": "a\0b"}])
async def test_what_no_database_can_hold_is_no_setting(
    here: Setup, evil: HostileProvider, wrong: dict[str, Any]
) -> None:
    with pytest.raises(InvalidIdentityProviderSettings):
        await here.set_up(evil.url, **wrong)


async def test_v8_unbinding_ends_the_sign_ins_the_roles_and_the_way_in(here: Setup, evil: HostileProvider) -> None:
    ada = await somebody(here)
    there, elsewhere = entered(await here.sign_in()), await begin(here, ada.person, "passkey")
    async with here.service.db.write() as tx:
        (bound,) = await identities.list_linked_accounts(tx, ada.person)
        assert bound.issuer == evil.url
        await identities.unlink_accounts(tx, ada.person, BY)
        assert await identities.list_linked_accounts(tx, ada.person) == []
        await identities.unlink_accounts(tx, ada.person, BY)
    assert await roles(here, there) is None
    assert await roles(here, elsewhere) == {"developer"}
    assert (await here.find(ada.person)).roles == {"developer"}
    unbound = [details for action, details in await here.actions() if action == "identity.unbound"]
    assert unbound == [{"issuers": [evil.url], "signInsEnded": 1}]
    assert len([subject for subject, _ in await ada.mails() if "account disconnected" in subject]) == 1
    await here.change(ada.person, externalId="another")
    assert (await refused(here, here.sign_in())).reason is SsoRefusalReason.UNKNOWN


async def test_v8_the_only_way_in_is_not_unbound_by_oneself(here: Setup) -> None:
    ada = await somebody(here)
    await here.sign_in()
    async with here.service.db.write() as tx:
        with pytest.raises(LastSignInMethodCannotBeRemoved):
            await identities.unlink_accounts_unless_last_method(tx, ada.person, BY)
        assert len(await identities.list_linked_accounts(tx, ada.person)) == 1
        assert (await people.get(tx, ada.realm, ada.person.id)).roles == {"owner", "developer"}
