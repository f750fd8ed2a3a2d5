"""Many at once: a code, a recovery code, a link, a passkey's answer each count once; deactivation is at once."""

import asyncio
from collections.abc import Awaitable, Callable, Iterator
from functools import partial
from time import perf_counter

import pytest

from almoner.access.credentials import hashing
from almoner.access.credentials.domain import AttemptThrottled, AuthenticatorNotPending, SignInOverloaded
from almoner.access.credentials.service import authenticators, login_attempts, passkeys, recovery
from almoner.access.people import service as people
from almoner.access.sign_ins import service as sign_ins
from almoner.access.sign_ins.domain import InvalidEmailLink, SignInFailed
from almoner.access.sign_ins.service import account, links, sign_in_methods
from almoner.platform.database.transactions import Tx
from tests.support.eventually import eventually
from tests.support.locking import waits_for_lock
from tests.support.people import LEAST_COST
from tests.support.security_key import SecurityKey
from tests.support.service import Service, Tenant
from tests.support.signing_in import NEW, WRONG, Account, found, member, second

AT_ONCE = 32


async def at_once(who: Account, attempt: Callable[[Tx], Awaitable[bool]]) -> int:
    """How many of 32 at once were let through."""

    async def one() -> bool:
        async with who.service.db.write() as tx:
            return await attempt(tx)

    return sum(await asyncio.gather(*(one() for _ in range(AT_ONCE))))


async def test_one_code_of_an_app_counts_once(service: Service, tenant: Tenant) -> None:
    who = await member(service, tenant)
    await who.add_app()
    code = who.code()
    assert await at_once(who, lambda tx: authenticators.verify_code(tx, who.person, code)) == 1


async def test_one_first_code_adds_one_app(service: Service, tenant: Tenant) -> None:
    who = await member(service, tenant)
    async with service.db.write() as tx:
        shown = await authenticators.begin_setup(tx, who.person, "Almoner")
    who.set_app(shown.secret)
    code = who.code()

    async def confirm(tx: Tx) -> bool:
        try:
            return await account.confirm_authenticator(tx, who.person, code, who.home)
        except AuthenticatorNotPending:
            return False

    assert await at_once(who, confirm) == 1
    assert (await who.recorded()).count("authenticator.added") == 1


async def test_one_recovery_code_counts_once(service: Service, tenant: Tenant) -> None:
    who = await member(service, tenant)
    await who.add_app()
    async with service.db.write() as tx:
        code, *_ = await account.create_recovery_codes(tx, who.person, who.home)
    assert await at_once(who, lambda tx: recovery.consume_recovery_code(tx, who.person, code)) == 1


async def test_one_answer_of_a_passkey_signs_in_once(service: Service, tenant: Tenant) -> None:
    who = await member(service, tenant)
    key = SecurityKey(service.db.deployment.base_urls.pages, count=None)
    async with service.db.write() as tx:
        answer = key.create(await passkeys.build_registration_options(tx, who.person, b"browser"))
        await account.add_passkey(tx, who.person, b"browser", answer, "Laptop", who.home)
        answer = key.get(await passkeys.build_authentication_options(tx, b"browser"))

    async def enter() -> bool:
        try:
            await sign_in_methods.sign_in_by_passkey(service.db, who.realm, b"browser", answer, who.home)
        except SignInFailed:
            return False
        return True

    assert sum(await asyncio.gather(*(enter() for _ in range(AT_ONCE)))) == 1
    async with service.db.read() as tx:
        assert len(await sign_ins.list_by_person(tx, who.person)) == 1


async def test_one_link_sets_one_password(service: Service, tenant: Tenant) -> None:
    who = await member(service, tenant, password=None)
    async with service.db.write() as tx:
        token = links.create_link_token(tx, await links.send_invitation(tx, who.person))

    async def choose(number: int) -> int | None:
        try:
            await links.set_password_by_link(service.db, token, "invitation", f"{NEW} {number}", who.home)
        except InvalidEmailLink:
            return None
        return number

    chosen = [number for number in await asyncio.gather(*map(choose, range(AT_ONCE))) if number is not None]
    assert len(chosen) == 1
    await who.enter(f"{NEW} {chosen[0]}")
    assert (await who.recorded()).count("password.changed") == 1


async def test_many_links_made_at_once_leave_one_open(service: Service, tenant: Tenant) -> None:
    who = await member(service, tenant, password=None)

    async def invite(tx: Tx) -> bool:
        return bool(await links.send_invitation(tx, who.person))

    assert await at_once(who, invite) == AT_ONCE
    async with service.db.read() as tx:
        rows = await tx.fetch("select replaced_at from one_time_link where person_id = $1", who.person.id)
    assert sorted(row["replaced_at"] is None for row in rows) == [False] * (AT_ONCE - 1) + [True]


@pytest.mark.usefixtures("standing_time")
async def test_a_hundred_guesses_at_once_are_five(service: Service, tenant: Tenant) -> None:
    """What counts afterwards counts nothing that runs beside it: tries are counted before they are checked."""
    who = await member(service, tenant)

    async def guess() -> type[Exception]:
        try:
            await who.enter(WRONG)
        except (SignInFailed, AttemptThrottled) as refused:
            return type(refused)
        raise AssertionError("a wrong password let somebody in")

    results = await asyncio.gather(*(guess() for _ in range(100)))
    assert results.count(SignInFailed) == 5


@pytest.mark.usefixtures("standing_time")
async def test_a_hundred_codes_at_once_are_five(service: Service, tenant: Tenant) -> None:
    who = await member(service, tenant)
    await who.add_app()
    ticket = (await second(who)).ticket

    async def guess() -> type[Exception]:
        try:
            await sign_in_methods.sign_in_by_second_factor_code(
                service.db, who.realm, ticket, who.wrong_code(), who.home
            )
        except (SignInFailed, AttemptThrottled) as refused:
            return type(refused)
        raise AssertionError("a wrong code let somebody in")

    results = await asyncio.gather(*(guess() for _ in range(100)))
    assert results.count(SignInFailed) == 5


async def test_a_code_and_a_link_hold_person_and_tries_in_one_order(service: Service, tenant: Tenant) -> None:
    """Otherwise each waits for what the other holds, and PostgreSQL ends one of them."""
    who = await member(service, tenant)
    await who.add_app()
    ticket = (await second(who)).ticket
    with pytest.raises(SignInFailed):
        await sign_in_methods.sign_in_by_second_factor_code(service.db, who.realm, ticket, who.wrong_code(), who.home)
    async with service.db.write() as tx:  # as links.set_password_hash does
        await people.get_for_update(tx, who.realm, who.person.id)
        entering = asyncio.create_task(
            sign_in_methods.sign_in_by_second_factor_code(service.db, who.realm, ticket, who.code(), who.home)
        )
        await eventually(partial(waits_for_lock, service))
        await login_attempts.clear_attempts(tx, who.person)
    assert (await entering).sign_in.method == "password_totp"


@pytest.fixture
def slow_hashes() -> Iterator[None]:
    """A quarter of today's cost: long enough for the loop to do something beside."""
    hashing.set_hash_cost(hashing.HashCost(passes=1, kibibytes=hashing.CURRENT_COST.kibibytes // 2))
    yield
    hashing.set_hash_cost(LEAST_COST)


async def test_two_hashes_are_made_at_a_time_and_a_flood_is_turned_away(service: Service, slow_hashes: None) -> None:
    """H11: the server goes on answering while a flood of sign-ins waits for itself."""
    flood = [asyncio.create_task(hashing.hash_secret(b"%d" % number)) for number in range(hashing.MAX_QUEUED + 20)]
    answered = 0
    while not all(task.done() for task in flood):
        async with service.db.read() as tx:
            assert await tx.fetchval("select 1") == 1
        answered += 1
    results = await asyncio.gather(*flood, return_exceptions=True)
    assert sum(isinstance(result, SignInOverloaded) for result in results) == 20
    assert sum(isinstance(result, str) for result in results) == hashing.MAX_QUEUED
    assert answered > 3, "whoever hashes on the loop answers once"
    assert hashing.MAX_THREADS == 2


async def test_a_flood_of_strangers_keeps_places_for_who_was_here_before() -> None:
    hash_ = await hashing.hash_secret(b"y")
    flood = [asyncio.create_task(hashing.verify_hash(hash_, b"x", has_priority=False)) for _ in range(60)]
    await asyncio.sleep(0)
    known = [asyncio.create_task(hashing.verify_hash(hash_, b"x", has_priority=True)) for _ in range(20)]
    strangers = await asyncio.gather(*flood, return_exceptions=True)
    assert sum(isinstance(result, SignInOverloaded) for result in strangers) == 20
    assert await asyncio.gather(*known) == [False] * 20


async def test_deactivation_under_load_ends_sign_ins_at_once(service: Service, tenant: Tenant) -> None:
    who = await member(service, tenant)
    secrets = [(await who.enter()).session_secret for _ in range(3)]
    stop = asyncio.Event()
    started: list[float] = []
    """When each look began that found the sign-in."""

    async def browse(secret: str) -> None:
        while not stop.is_set():
            looks = perf_counter()
            if await found(who, secret):
                started.append(looks)

    async def come_again() -> None:
        """Signs in all the time: none of these may outlive the deactivation either."""
        while not stop.is_set():
            async with service.db.write() as tx:
                try:
                    secrets.append((await sign_ins.begin_sign_in(tx, who.person, "password", who.home)).session_secret)
                except SignInFailed:
                    return

    load = [asyncio.create_task(browse(secret)) for secret in secrets for _ in range(4)]
    load.append(asyncio.create_task(come_again()))
    await eventually(lambda: len(started) > 50 and len(secrets) > 10)
    await who.deactivate()
    committed = perf_counter()
    assert [await found(who, secret) for secret in secrets] == [False] * len(secrets)
    stop.set()
    await asyncio.gather(*load)
    assert max(started) < committed
    async with service.db.read() as tx:
        listed = await sign_ins.list_by_person(tx, who.person)
    assert {one.end_reason for one in listed} == {"deactivated"}
