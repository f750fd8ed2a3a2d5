"""Which registers' websites let agents through: such as may decide, in data that are new enough (settled 5)."""

from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest

from almoner.validation.decisions.reviews import service as reviews
from almoner.validation.decisions.reviews.domain import ReviewFilters
from tests.support import agents
from tests.support.client import Client, data
from tests.support.service import Service
from tests.support.written_register import Loader, Written, entry


@pytest.mark.parametrize(
    ("number", "unverified", "days", "reasons"),
    [
        ("1988431", False, 1, ()),
        ("1988432", True, 1, ("unverified_source",)),
        ("1988433", False, 40, ("stale_data",)),
    ],
)
async def test_a_website_counts_in_data_that_may_decide(
    service: Service,
    api: Client,
    tmp_path: Path,
    number: str,
    unverified: bool,
    days: int,
    reasons: tuple[str, ...],
) -> None:
    day = service.clock.now().replace(hour=0, minute=0, second=0, microsecond=0) - timedelta(days=days)
    source = Written(f"ccew-{number}", "CCEW", is_format_unverified=unverified)
    listed = entry(number, "Fund", websites=["https://fund.example"])
    await Loader(service.db, tmp_path).load(source, day, listed)
    organisation = data(await api.get(f"/v1/organisations/GBR/CCEW/{number}"))["id"]
    usual = service.db.deployment
    service.db.deployment = replace(usual, max_data_age=timedelta(days=30))
    try:
        made = await agents.create(service, api, organisation=organisation, email="ada@fund.example")
        await service.drain()
        await agents.simulate(api, made, "confirm_email")
        await service.drain()
    finally:
        service.db.deployment = usual
    assert (await agents.shown(api, made))["status"] == ("pending_review" if reasons else "approved")
    subject = service.db.deployment.ids.decode("agentverification", made["id"])
    async with service.db.read() as tx:
        queue = await reviews.list_open_reviews(tx, ReviewFilters(), 10_000)
    assert [one.reasons for one in queue if one.subject.id == subject] == ([reasons] if reasons else [])
