"""Wrong tries slow the next one and lock nobody out; nobody learns who has an account (K3, ASVS 6.3)."""

import os
from collections.abc import AsyncIterator
from dataclasses import replace
from datetime import timedelta
from statistics import median
from time import process_time

import pytest

from almoner.access.credentials.domain import AttemptThrottled
from almoner.access.sign_ins import service as sign_ins
from almoner.access.sign_ins.domain import (
    Browser,
    SignInFailed,
)
from almoner.access.sign_ins.service import links, sign_in_methods
from tests.support.database import TestDatabase
from tests.support.service import Service, Tenant, serving
from tests.support.signing_in import AWAY, PASSWORD, WRONG, Account, member, second, tried, wrong

pytestmark = pytest.mark.usefixtures("standing_time")


@pytest.fixture
async def ada(service: Service, tenant: Tenant) -> Account:
    """A member with a password."""
    return await member(service, tenant)


async def test_the_same_answer_for_unknown_names_wrong_passwords_and_the_deactivated(ada: Account) -> None:
    """K3, ASVS 6.3.8: nobody learns who has an account."""
    gone, without = await member(ada.service, await ada.service.tenant()), ada
    await gone.deactivate()
    raised = []
    for realm, name, password in (
        (ada.realm, "nobody-has-this-name", PASSWORD),
        (without.realm, without.name, WRONG),
        (gone.realm, gone.name, PASSWORD),
    ):
        with pytest.raises(SignInFailed) as error:
            await sign_in_methods.sign_in_by_password(ada.service.db, realm, name, password, ada.home)
        raised.append(str(error.value))
    assert len(set(raised)) == 1


@pytest.mark.usefixtures("hashes_of_today")
async def test_an_unknown_name_takes_as_long_as_a_wrong_password(ada: Account, tenant: Tenant) -> None:
    """The hash is the work of the processor: without it an answer takes a thirtieth. Noise does not reach the ratio."""
    took: dict[str, list[float]] = {"known": [], "unknown": []}
    for round_ in range(3):
        for kind, name in (("known", ada.name), ("unknown", f"nobody-{tenant.name}-{round_}")):
            started = process_time()
            with pytest.raises(SignInFailed):
                await sign_in_methods.sign_in_by_password(ada.service.db, ada.realm, name, WRONG, ada.home)
            took[kind].append(process_time() - started)
    assert 1 / 3 < median(took["known"]) / median(took["unknown"]) < 3


async def test_after_five_wrong_passwords_even_the_right_one_waits(ada: Account) -> None:
    await wrong(ada, times=5)
    with pytest.raises(AttemptThrottled) as soon:
        await ada.enter()
    for _ in range(3):
        with pytest.raises(AttemptThrottled) as again:
            await ada.enter(WRONG)
        assert again.value.until == soon.value.until, "a try that is too early is not counted"
    ada.service.clock.advance_wall(seconds=1.1)
    await ada.enter()
    await wrong(ada, times=4)
    await ada.enter()


async def test_waits_are_the_same_for_a_name_that_nobody_has(ada: Account) -> None:
    async def attempt() -> None:
        await sign_in_methods.sign_in_by_password(ada.service.db, ada.realm, f"no-{ada.name}", WRONG, ada.home)

    for _ in range(5):
        with pytest.raises(SignInFailed):
            await attempt()
    with pytest.raises(AttemptThrottled):
        await attempt()


@pytest.fixture
async def small_world(empty_database: TestDatabase) -> AsyncIterator[Account]:
    """A member in a database of their own: tries from one network are counted for all names."""
    async with serving(empty_database) as service:
        service.clock.stop_wall()
        yield await member(service, await service.tenant())


async def test_who_is_attacked_from_elsewhere_signs_in_from_home(small_world: Account) -> None:
    ada = small_world
    known = replace(AWAY, ip_address="192.0.2.44", device_cookie=(await ada.enter()).device_cookie)
    for number in range(5):
        await tried(ada, Browser(f"203.0.113.{number}"), times=4)
    with pytest.raises(AttemptThrottled):
        await ada.enter(browser=Browser("192.0.2.200"))
    await ada.enter()
    await ada.enter(browser=known)


async def test_a_device_that_signed_in_before_is_not_slowed_by_its_neighbours(small_world: Account) -> None:
    ada = small_world
    known = replace(ada.home, device_cookie=(await ada.enter()).device_cookie)
    await wrong(ada, ada.home, times=8)
    with pytest.raises(AttemptThrottled):
        await ada.enter(browser=ada.home)
    await ada.enter(browser=known)
    await wrong(ada, known, times=5)
    with pytest.raises(AttemptThrottled):
        await ada.enter(browser=known)


async def test_the_cookie_of_a_device_is_its_persons_own_and_ends(small_world: Account) -> None:
    ada = small_world
    cookie = (await ada.enter()).device_cookie
    epoch = 1  # of the first password
    vault, real_now = ada.service.db.deployment.vault, ada.service.clock.real_now()
    other = replace(ada.person, id=ada.realm.id)
    assert sign_ins.find_device_id_in_cookie(vault, ada.person, epoch, cookie, real_now)
    assert not sign_ins.find_device_id_in_cookie(vault, other, epoch, cookie, real_now)
    assert not sign_ins.find_device_id_in_cookie(vault, ada.person, epoch, cookie, real_now + timedelta(days=180))
    assert not sign_ins.find_device_id_in_cookie(vault, ada.person, epoch + 1, cookie, real_now)
    for broken in (None, "", "x", "é", cookie[:-2]):
        assert not sign_ins.find_device_id_in_cookie(vault, ada.person, epoch, broken, real_now)


async def test_many_names_from_one_network_are_slowed(small_world: Account) -> None:
    """Passwords of another site's leak: each name is tried once."""
    ada = small_world
    home = (await ada.enter()).device_cookie

    there = Browser("203.0.113.9")
    for number in range(50):
        await tried(ada, there, name=f"leaked-{number}")
    with pytest.raises(AttemptThrottled):
        await tried(ada, there, name="leaked-50")
    await ada.enter(browser=Browser("203.0.113.9", device_cookie=home))
    await ada.enter(browser=Browser("203.0.113.10"))


async def test_a_customers_whole_network_is_one_source_of_many_names(ada: Account) -> None:
    """A /48 holds 65,536 neighbourhoods with 50 free names each."""
    site = os.urandom(2).hex()
    for number in range(200):
        await tried(ada, Browser(f"2001:db8:{site}:{number:x}::1"), name=f"leaked-{number}")
    with pytest.raises(AttemptThrottled):
        await tried(ada, Browser(f"2001:db8:{site}:ffff::1"), name="leaked-200")
    await tried(ada, Browser(f"2001:db9:{site}:ffff::1"), name="leaked-200")


async def test_who_signed_in_from_a_network_waits_for_nobody_in_its_district(ada: Account) -> None:
    await ada.enter()
    near = ada.home.ip_address.rpartition(":")[0].rpartition(":")[0]
    site = ":".join(near.split(":")[:3])
    for number in range(200):
        await tried(ada, Browser(f"{site}:{number:x}::1"), name=f"leaked-{number}")
    await ada.enter()


async def test_codes_are_slowed_apart_from_passwords(ada: Account) -> None:
    await ada.add_app()
    needed = await second(ada)
    for _ in range(5):
        with pytest.raises(SignInFailed):
            await sign_in_methods.sign_in_by_second_factor_code(
                ada.service.db, ada.realm, needed.ticket, ada.wrong_code(), ada.home
            )
    with pytest.raises(AttemptThrottled):
        await sign_in_methods.sign_in_by_second_factor_code(
            ada.service.db, ada.realm, needed.ticket, ada.code(), ada.home
        )
    await second(ada)


@pytest.mark.parametrize("name", ["", " ", "a\0b", "half \ud800", "x" * 60_000])
async def test_what_can_be_nobodys_name_is_refused_like_any_other(ada: Account, name: str) -> None:
    with pytest.raises(SignInFailed):
        await sign_in_methods.sign_in_by_password(ada.service.db, ada.realm, name, f"{name}\0", ada.home)
    async with ada.service.db.write() as tx:
        await links.request_password_reset(tx, ada.realm, name, ada.home.ip_address)
    await ada.service.drain()


async def test_a_refusal_is_recorded_once_a_minute(ada: Account) -> None:
    await wrong(ada, times=3)
    assert (await ada.recorded()).count("sign_in.refused") == 1
    ada.service.clock.advance_wall(seconds=61)
    await wrong(ada)
    assert (await ada.recorded()).count("sign_in.refused") == 2
