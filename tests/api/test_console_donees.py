"""The donees of US tax receipts on the pages of finance: proposed by one person and approved by another."""

from tests.support.console import act, closed, entries, listed, refused, words
from tests.support.factories import unique
from tests.support.operators import operator, signed_in
from tests.support.service import Service, Tenant

HOME = "/operator"
DONEES = f"{HOME}/receipt-donees"


async def test_one_person_proposes_a_donee_and_another_approves_it(service: Service, tenant: Tenant) -> None:
    olive, oscar = [await signed_in(service, await operator(service, "finance")) for _ in range(2)]
    name, place = unique("Bright Foundation"), f"{DONEES}/propose"
    typed = {"legal_name": name, "ein": "12-3456789", "address": "1 Main Street, Casper, WY 82601", "note": "letter"}
    assert "No partner has this ID" in await refused(olive, place, partner="x", **typed)
    partner = service.db.deployment.ids.encode("partner", tenant.partner.id)
    assert "is not an EIN" in await refused(olive, place, partner=partner, **{**typed, "ein": "12"})
    page = await act(olive, place, partner=partner, **typed)
    assert "is proposed already" in await refused(olive, place, partner=partner, **typed)
    await olive.open(page)
    assert "12-3456789" not in words(olive), "who approves takes it from elsewhere"
    assert "you did an earlier step" in await closed(olive, f"{page}/approve")
    await oscar.open(f"{HOME}/money")
    assert f"Approve the donee {name}" in words(oscar)
    assert "differs from the proposed one" in await refused(oscar, f"{page}/approve", ein="12-3456788", note="letter")
    await act(oscar, f"{page}/approve", ein="12-3456789", note="compared with the letter")
    assert "Donee approved." in words(oscar)
    assert "12-3456789" in words(oscar)
    assert await listed(olive, DONEES, name)
    await act(olive, f"{page}/end")
    assert "Donee removed." in words(olive)
    assert "has ended already" in await closed(oscar, f"{page}/end")
    named = page.rpartition("/")[2]
    for action in ("receipt_donee.proposed", "receipt_donee.approved", "receipt_donee.ended"):
        assert await entries(service, action, named) == 1, action
    assert (await olive.get(f"{DONEES}/{service.db.deployment.ids.example_id('receiptdonee')}")).status_code == 404
    for browser in (olive, oscar):
        await browser.close()
