"""The operators of the sandbox's demo sign in and type commands by what `sandbox.json` says of them."""

import pyotp

from almoner.access.operators import service as operators
from almoner.access.people import service as people
from almoner.access.people.domain import OPERATORS
from almoner.access.sign_ins.domain import Browser, PendingSecondFactor
from almoner.access.sign_ins.service import sign_in_methods
from almoner.cli.demo_people import Login, ensure_operator_logins
from tests.support.service import Service
from tests.support.terminal import BY

HOME = Browser("192.0.2.31", "Firefox")


async def enter(service: Service, login: Login) -> str:
    """Sign in as the pages do; the method."""
    entered = await sign_in_methods.sign_in_by_password(
        service.db, OPERATORS, login["userName"], login["password"], HOME
    )
    assert isinstance(entered, PendingSecondFactor)
    code = pyotp.TOTP(login["totpSecret"]).at(service.clock.real_now())
    return (
        await sign_in_methods.sign_in_by_second_factor_code(service.db, OPERATORS, entered.ticket, code, HOME)
    ).sign_in.method


async def test_two_operators_can_do_what_takes_two(service: Service) -> None:
    made = await ensure_operator_logins(service.db, [])
    assert [{"reviewer", "finance"} <= set(login["roles"]) for login in made] == [True, True]
    async with service.db.write() as tx:
        for login in made:
            person, _ = await operators.authenticate(tx, login["token"])
            assert (person.user_name, set(person.roles)) == (login["userName"], set(login["roles"]))
    assert [await enter(service, login) for login in made] == ["password_totp"] * 2
    assert await ensure_operator_logins(service.db, made) == made, "a later start keeps them"


async def test_what_no_longer_opens_anything_is_made_anew(service: Service) -> None:
    ada, bo = await ensure_operator_logins(service.db, [])
    async with service.db.write() as tx:
        person, token = await operators.authenticate(tx, ada["token"])
        await operators.revoke_token(tx, BY, token)
    again, stored = await ensure_operator_logins(service.db, [{**ada, "password": "of another day"}, bo])
    assert stored == bo
    assert (again["password"] != ada["password"], again["token"] != ada["token"]) == (True, True)
    assert await enter(service, again) == "password_totp"
    async with service.db.write() as tx:
        person, _ = await operators.authenticate(tx, bo["token"])
        await operators.deactivate(tx, BY, person.id)
    assert [login["token"] is None for login in await ensure_operator_logins(service.db, [again, bo])] == [False, True]
    async with service.db.write() as tx:
        person = await people.get_for_update(tx, OPERATORS, person.id)
        await operators.activate(tx, BY, person.id)
