"""How many verifications, flags and accounts wait before nonprofits are paid, as the metrics tell it."""

import re

from almoner.giving.disbursing.payee_bank_accounts import service as payee_bank_accounts
from almoner.giving.disbursing.verifications import service as verifications
from tests.support import bank, factories
from tests.support.client import Client
from tests.support.payouts import verified
from tests.support.service import Service

SET = re.compile(r'almoner_payee_checks_(open|oldest_seconds)\{kind="(\w+)"\} ([\d.]+)')


async def measured(service: Service) -> dict[str, tuple[float, float]]:
    """How many of each wait, and how long the oldest has, in days."""
    telemetry = service.services.telemetry
    async with service.db.read() as tx:
        await verifications.collect_metrics(tx, telemetry)
        await payee_bank_accounts.collect_metrics(tx, telemetry)
    found = {(kind, what): float(value) for kind, what, value in SET.findall(telemetry.render_metrics().decode())}
    kinds = ("verification", "flag", "account")
    return {what: (found["open", what], round(found["oldest_seconds", what] / 86_400)) for what in kinds}


async def test_what_waits_is_counted_with_its_age(alone: Service) -> None:
    api: Client = alone.client((await alone.tenant()).secret)
    assert set((await measured(alone)).values()) == {(0, 0)}
    nonprofit = await factories.nonprofit(alone)
    await verified(alone, api, nonprofit)
    await factories.verification(alone, api)
    alone.clock.advance(days=2)
    async with alone.db.write() as tx:  # after its check
        await payee_bank_accounts.propose_account(tx, bank.proposal(alone, nonprofit), note="letter", proposed_by="one")
    alone.clock.advance(days=1)
    assert await measured(alone) == {"verification": (1, 3), "flag": (1, 1), "account": (1, 1)}
    await api.close()
