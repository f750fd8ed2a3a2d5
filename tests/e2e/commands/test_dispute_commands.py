"""`almoner disputes` as people type it, over the database of a service."""

from pathlib import Path

import pytest

from tests.support import factories
from tests.support.client import Client
from tests.support.payouts import gift, simulate
from tests.support.service import Service
from tests.support.terminal import Operator, Type, in_process, operator

NOTE = ("--note", "a letter of the bank")


@pytest.fixture
async def olive(service: Service) -> Operator:
    """An operator who sees to money."""
    return await operator(service, "finance", name="Olive")


@pytest.fixture
def almoner(service: Service, tmp_path: Path, olive: Operator) -> Type:
    """Her terminal."""
    return in_process(service, tmp_path, olive)


async def disputed(service: Service, api: Client) -> tuple[dict[str, str], str]:
    """A disputed gift, and the identifier of its dispute."""
    made = await factories.donation(service, api)
    await simulate(api, made["id"], "dispute")
    async with service.db.read() as tx:
        found = await tx.fetchval("select id from dispute order by id desc limit 1")
    return made, service.db.deployment.ids.encode("dispute", found)


async def test_an_officer_sees_a_dispute_and_notes_how_it_ended(
    service: Service, api: Client, almoner: Type, olive: Operator
) -> None:
    made, name = await disputed(service, api)
    status, listed = await almoner("disputes", "list")
    assert status == 0
    for fact in (name, made["id"], "25.00 USD", " open ", "fraudulent"):
        assert fact in listed
    shown = " ".join((await almoner("disputes", "show", name))[1].split())
    for fact in (f"donation {made['id']}", "provider payment tp_", "provider dispute tpd_", "status open"):
        assert fact in shown
    assert "absorbed" not in shown
    assert await almoner("disputes", "refresh", name) == (
        0,
        "A background worker will fetch the status from the payment provider.\n",
    )
    assert await almoner("disputes", "mark-lost", name, *NOTE) == (0, f"{name} is lost.\n")
    assert (await gift(api, made))["refundedAmount"] == 2500
    assert name not in (await almoner("disputes", "list"))[1]
    assert name in (await almoner("disputes", "list", "--all"))[1]
    shown = " ".join((await almoner("disputes", "show", name))[1].split())
    for fact in (
        "status lost",
        "Olive",
        olive.id,
        "a letter of the bank",
        "absorbed by us 0.00 USD",
        "already disbursed no",
    ):
        assert fact in shown
    status, reported = await almoner("disputes", "mark-won", name, *NOTE)
    assert (status, "the dispute has already been decided: it is lost" in reported) == (1, True)


async def test_one_that_was_won_is_as_it_was(service: Service, api: Client, almoner: Type) -> None:
    made, name = await disputed(service, api)
    assert await almoner("disputes", "mark-won", name, *NOTE) == (0, f"{name} is won.\n")
    assert (await gift(api, made))["refundedAmount"] is None


async def test_what_is_not_there_or_says_nothing_is_refused(service: Service, api: Client, almoner: Type) -> None:
    _, name = await disputed(service, api)
    unknown = name[:-4] + "0000"
    for words in (("show", unknown), ("mark-won", unknown, *NOTE), ("mark-lost", unknown, *NOTE), ("refresh", unknown)):
        status, reported = await almoner("disputes", *words)
        assert (status, "almoner disputes list --all" in reported) == (1, True)
    for note in ("", " ", "x" * 2001):
        status, reported = await almoner("disputes", "mark-lost", name, "--note", note)
        assert (status, "1 to 2000 characters" in reported) == (1, True)
    assert (await almoner("disputes", "show", "sandbox_donation_x"))[0] != 0
