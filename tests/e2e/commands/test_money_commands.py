"""`almoner unallocated-payments` and `almoner selfcheck` as people type them, over the database of a service (M6)."""

from collections.abc import AsyncIterator
from pathlib import Path

import asyncpg
import pytest

from tests.support import giving as support
from tests.support.giving import Giving
from tests.support.service import Service
from tests.support.suspense import held, held_for, work
from tests.support.terminal import Operator, Type, in_process, operator


@pytest.fixture
async def giving(service: Service) -> AsyncIterator[Giving]:
    """A session whose donor is about to give."""
    api = service.client((await service.tenant()).secret)
    yield await support.open_session(service, api)
    await api.close()


@pytest.fixture
async def olive(service: Service) -> Operator:
    """An operator who sees to money."""
    return await operator(service, "finance", name="Olive")


@pytest.fixture
def almoner(service: Service, tmp_path: Path, olive: Operator) -> Type:
    """Her terminal."""
    return in_process(service, tmp_path, olive)


async def test_m6_a_person_sees_held_money_and_sends_it_back(
    service: Service, giving: Giving, almoner: Type, olive: Operator
) -> None:
    found = await held_for(giving, "unknown_payment")
    name = service.db.deployment.ids.encode("heldpayment", found.id)
    status, listed = await almoner("unallocated-payments", "list")
    assert status == 0
    for fact in (name, "unknown_payment", "25.00 USD", " held ", found.provider_payment_id):
        assert fact in listed
    assert max(map(len, listed.splitlines())) <= 150
    assert await almoner("unallocated-payments", "refund", name, "--note", "the donor rang") == (
        0,
        f"{name} is refunding.\n",
    )
    service.clock.advance_to(service.clock.real_now())
    await work(giving)
    assert (await held(giving)).decided_by == olive.id
    assert name not in (await almoner("unallocated-payments", "list"))[1]
    listed = (await almoner("unallocated-payments", "list", "--all"))[1]
    for fact in ("refunded", f"Olive ({olive.id})", "the donor rang"):
        assert fact in listed
    status, refused = await almoner("unallocated-payments", "write-off", name, "--note", "no, it is theirs")
    assert (status, refused.count("\n")) == (1, 1)
    assert "it is refunded" in refused


async def test_m6_what_a_person_types_wrongly_is_told_in_one_line(
    service: Service, giving: Giving, almoner: Type
) -> None:
    unknown = service.db.deployment.ids.example_id("heldpayment")
    assert (
        "almoner unallocated-payments list"
        in (await almoner("unallocated-payments", "refund", unknown, "--note", "x"))[1]
    )
    for words in (("refund", unknown), ("refund", "nothing", "--note", "x"), ("write-off", unknown, "--note", " ")):
        status, reported = await almoner("unallocated-payments", *words)
        assert status == 2
        assert "Traceback" not in reported
    found = await held_for(giving, "other_reference")
    name = service.db.deployment.ids.encode("heldpayment", found.id)
    by_hand = ("unallocated-payments", "refund", name, "--note", "in the dashboard", "--provider-refund", "re_77")
    assert await almoner(*by_hand) == (0, f"{name} is refunded.\n")
    assert (await held(giving)).provider_refund == "re_77"


async def test_selfcheck_exits_with_1_when_something_is_found(service: Service, giving: Giving, almoner: Type) -> None:
    await held_for(giving, "short")
    status, reported = await almoner("selfcheck")
    assert status == 0, reported
    assert "all passed" in reported
    connection = await asyncpg.connect(service.database.server.superuser_url(service.database.name))
    await connection.execute("set session_replication_role = replica; delete from ledger_transfer")
    await connection.close()
    status, reported = await almoner("selfcheck")
    assert status == 1
    for fact in ("suspense.states_are_posted: 1 found", "ledger.balances_are_sums", "  to do     "):
        assert fact in reported
