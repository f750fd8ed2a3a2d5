"""What finance does with one donation on a page: another nonprofit gets it, or its declaration is cancelled."""

from datetime import UTC, datetime

from tests.support import books, factories
from tests.support.client import Client
from tests.support.console import act, entries, refused, words
from tests.support.giftaid import declared
from tests.support.operators import operator, signed_in
from tests.support.payouts import gift, payouts, settled, uuid_of
from tests.support.service import Service

HOME = "/operator"
REASSIGN = f"{HOME}/disbursements/reassign"
CANCEL = f"{HOME}/gift-aid-claims/cancel-declaration"
DRAFT = f"{HOME}/gift-aid-claims/draft"


async def test_a_donation_is_reassigned_from_its_disbursement(service: Service, api: Client) -> None:
    olive = await signed_in(service, await operator(service, "finance"))
    first, second = [await factories.nonprofit(service) for _ in range(2)]
    made = await settled(service, api, first, amount=10_000)
    await service.drain()
    [waiting] = await payouts(api, organisationId=first)
    assert f"{REASSIGN}?donation={made['id']}" in (await olive.open(f"{HOME}/disbursements/{waiting['id']}")).text
    typed = {"donation": made["id"], "organisation": second, "ground": "merged", "note": "letter of 2 March"}
    told = (await refused(olive, REASSIGN, **{**typed, "donation": "x", "organisation": "x"})).lower()
    assert ("no donation has this id" in told, "no nonprofit has this id" in told) == (True, True)
    assert "no nonprofit has this id" in (await refused(olive, REASSIGN, **{**typed, "organisation": "x"})).lower()
    closed = await factories.nonprofit(service, active=False)
    assert "cannot accept donations" in await refused(olive, REASSIGN, **{**typed, "organisation": closed})
    assert "this organisation's already" in await refused(olive, REASSIGN, **{**typed, "organisation": first})
    await act(olive, f"{REASSIGN}?donation={made['id']}", **typed)
    assert "Donation reassigned." in words(olive)
    done = await gift(api, made)
    assert (done["organisationId"], done["reassignedFromOrganisationId"]) == (second, first)
    assert (await books.owed(service, first), await books.owed(service, second)) == (0, 9750)
    assert await entries(service, "donation.reassigned", made["id"]) == 1
    await olive.close()


async def test_a_draft_of_a_claim_is_told_all_that_is_wrong(service: Service) -> None:
    olive = await signed_in(service, await operator(service, "finance"))
    told = (await refused(olive, DRAFT, charity="x", before="soon", year_end="99-99")).lower()
    for problem in ("there is no organisation", "enter a date such as 2026-11-01", "must be a day of every year"):
        assert problem in told, problem
    await olive.close()


async def test_a_declaration_is_cancelled(service: Service, api: Client) -> None:
    olive = await signed_in(service, await operator(service, "finance"))
    declaration = (await declared(api))["id"]
    assert "no gift aid declaration" in (await refused(olive, CANCEL, declaration="x")).lower()
    assert "2026-11-21" in await refused(olive, CANCEL, declaration=declaration, since="soon")
    both = (await refused(olive, CANCEL, declaration="x", since="soon")).lower()
    assert ("no gift aid declaration" in both, "2026-11-21" in both) == (True, True)
    await act(olive, CANCEL, declaration=declaration, since="2025-07-01")
    assert "Declaration cancelled." in words(olive)
    assert "already cancelled" in await refused(olive, CANCEL, declaration=declaration)
    async with service.db.read() as tx:
        ends = "select cancelled_from from gift_aid_declaration where id = $1"
        begun = await tx.fetchval(ends, uuid_of(service, "giftaid", declaration))
        about = "select details from audit_entry where action = 'gift_aid.cancelled' and subject = $1"
        details = await tx.fetchval(about, declaration)
    assert begun == datetime(2025, 6, 30, 23, tzinfo=UTC), "midnight in London"
    assert details == {"cancelled_from": "2025-06-30T23:00:00.000Z"}
    assert await entries(service, "gift_aid.cancelled", declaration) == 1
    await olive.close()
