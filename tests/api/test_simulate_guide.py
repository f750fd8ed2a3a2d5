"""The guide's table of what can be simulated is that of the code."""

import re
from pathlib import Path

from almoner import wiring
from almoner.adapters.payment_simulator_disabled import DisabledPaymentSimulator
from almoner.giving.checkout.donations.flows import PaymentContext
from almoner.giving.disbursing.disbursements.domain import DisbursementRules
from almoner.platform.pages.translations import TranslationCatalogues
from tests.support.fake_provider import FakeProvider
from tests.support.service import Service

GUIDE = Path(__file__).parents[2] / "docs" / "guides" / "quick-start.md"
ROW = re.compile(r"^\| ([a-z ]+) \| ((?:`[a-z_]+`(?:, )?)+) \|$", re.MULTILINE)


async def test_every_action_stands_in_the_guide(service: Service) -> None:
    simulation = wiring.build_simulation(
        PaymentContext(service.db, FakeProvider()),
        DisabledPaymentSimulator(),
        DisbursementRules(),
        TranslationCatalogues(),
    )
    stated = {
        record.replace(" ", ""): sorted(re.findall("[a-z_]+", actions))
        for record, actions in ROW.findall(GUIDE.read_text(encoding="utf-8"))
    }
    assert stated == simulation.actions
