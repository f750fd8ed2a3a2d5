"""A partner's program in Python, over real connections to the whole sandbox: search, give, be told, refund, upload."""

import asyncio
import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from zipfile import ZipFile

import pytest
from almoner_client import Almoner, models, webhooks

from tests.support.eventually import eventually
from tests.support.hostile_files import HONEST, PDF
from tests.support.receivers import Received, receiver
from tests.support.running import Running

PACKAGE = Path(__file__).parents[2] / "clients" / "python"


@pytest.fixture
def client(sandbox: Running) -> Iterator[Almoner]:
    """A client as a program makes it."""
    with Almoner(sandbox.secret_key, base_url=sandbox.base_url) as made:
        yield made


def give(client: Almoner, hook: str) -> tuple[models.WebhookSubscription, models.Donation]:
    """Subscribe, find a nonprofit, open a session, and let somebody give."""
    subscription = client.webhook_subscriptions.create(events=["donation.payment_successful"], url=hook)
    organisation = next(iter(client.organisations.search(query="yale university", country_code="USA")))
    session = client.donation_sessions.create(
        organisation_id=organisation.id,
        currency="USD",
        benefits=models.BenefitsParams(description="Dinner for two", fair_value=4000),
    )
    client.sandbox.simulate(
        id=session.id,
        action="donate",
        amount=12500,
        currency_code="USD",
        first_name="Ada",
        last_name="Example",
        email="ada@example.org",
    )
    completed = client.donation_sessions.get(session.id)
    assert completed.benefits is not None
    assert (completed.status, completed.benefits.fair_value) == ("completed", 4000)
    return subscription, client.donations.get(str(completed.donation_id))


def told_of(delivered: Received, donation: models.Donation) -> bool:
    """Whether it is about this donation: those of earlier tests may still come."""
    return bool(json.loads(delivered.body)["data"]["eventData"]["id"] == donation.id)


async def test_a_gift_from_search_to_a_verified_webhook_and_its_refund(client: Almoner) -> None:
    async with receiver() as hooks:
        subscription, donation = await asyncio.to_thread(give, client, hooks.url)
        (delivered,) = await eventually(lambda: [one for one in hooks.received if told_of(one, donation)])
    event = webhooks.verify(delivered.body, delivered.headers, str(subscription.secret))
    record = webhooks.record_of(event)
    assert isinstance(record, models.Donation)
    assert (event.event_type, record.id, record.amount) == ("donation.payment_successful", donation.id, 12500)
    assert event.sequence == int(delivered.headers["service-sequence"])
    refunded = await asyncio.to_thread(client.donations.refund, donation.id, amount=2500)
    assert refunded.request_id
    await asyncio.to_thread(client.webhook_subscriptions.delete, subscription.id)


def test_a_list_of_a_whole_register_is_gone_through(client: Almoner) -> None:
    page = client.organisations.search(page_size=100, country_code="USA")
    identifiers = [one.id for one in page]
    assert len(set(identifiers)) == len(identifiers) > 10_000 == page.total_results
    assert page.beside["exhaustiveTotalResults"] is False


def test_a_document_and_an_image_are_uploaded(client: Almoner, tmp_path: Path) -> None:
    path = tmp_path / "letter.pdf"
    path.write_bytes(HONEST[PDF])
    request = client.validation_requests.create(
        registry_name="IRS",
        registry_id="53-0196605",
        name="test_pending",
        website="https://example.org",
        country_code="USA",
    )
    shown = client.validation_requests.add_document(request.id, file=path)
    assert len(shown.documents) == 1
    assert client.validation_requests.get_dossier_pdf(request.id).startswith(b"%PDF-")
    category = client.categories.create(name="With an image")
    client.categories.set_image(category.id, image=HONEST["image/png"])
    assert client.categories.get(category.id).image_url
    client.categories.delete(category.id)


def test_wheel_and_sdist_hold_the_types_and_the_licence(tmp_path: Path) -> None:
    build = "import flit_core.buildapi as b, sys; b.build_wheel(sys.argv[1]); b.build_sdist(sys.argv[1])"
    subprocess.run([sys.executable, "-c", build, tmp_path], cwd=PACKAGE, check=True)
    (wheel,) = tmp_path.glob("almoner_client-*.whl")
    assert list(tmp_path.glob("almoner_client-*.tar.gz"))
    with ZipFile(wheel) as files:
        names = files.namelist()
        metadata = files.read(next(name for name in names if name.endswith("/METADATA"))).decode()
    assert {"almoner_client/py.typed", "almoner_client/_generated/models.py"} <= set(names)
    assert any("licenses/LICENSE" in name for name in names)
    assert "Requires-Dist: httpx" in metadata
    assert "Pass the raw bytes of the body" in metadata
