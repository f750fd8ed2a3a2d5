"""What people move on the dashboard: refunds by support up to an amount, and reassigned donations."""

import re

from almoner.access.partners import service as partners
from almoner.giving.checkout.donation_requests import domain as donation_requests_domain
from almoner.kit.money import EXPONENTS
from tests.support import factories
from tests.support.client import Client, data
from tests.support.console import entries
from tests.support.members import Desk, desk
from tests.support.payouts import uuid_of
from tests.support.requests import asked
from tests.support.service import Service, Tenant


async def test_support_refunds_up_to_what_an_owner_set_and_no_more_in_all(
    service: Service, tenant: Tenant, api: Client
) -> None:
    gift = await factories.donation(service, api)
    owner, support = await desk(service, tenant, "owner"), await desk(service, tenant, "support")
    page = f"{support.home}/donations/{gift['id']}/refund"
    await support.get(page)
    assert "This donation cannot be refunded." in support.text()
    assert (await support.post(page, amount="0.01", form_key="early")).status_code == 422
    await owner.get(f"{owner.home}/support-refunds")
    form = dict.fromkeys(("EUR", "GBP", "USD"), "") | {gift["currencyCode"]: "1.50"}
    assert (await owner.post(f"{owner.home}/support-refunds", form)).status_code == 303
    for amount, key, status in (("1.51", "a", 422), ("1.00", "b", 303), ("0.51", "c", 422), ("0.50", "d", 303)):
        await support.get(page)
        assert (await support.post(page, amount=amount, form_key=key)).status_code == status, amount
    await service.drain()
    assert data(await api.get(f"/v1/donations/{gift['id']}"))["refundedAmount"] == 150
    await owner.get(f"{owner.home}/audit")
    assert "Refund limit of the support role changed" in owner.text()
    finance = await desk(service, tenant, "finance")
    await finance.get(f"{finance.home}/donations/{gift['id']}/refund")
    beyond = await finance.post(f"{finance.home}/donations/{gift['id']}/refund", amount="2.00", form_key="e")
    assert beyond.status_code == 303
    for browser in (owner, support, finance):
        await browser.close()


async def test_a_request_to_pay_is_counted_behind_a_hundred_paid_ones(
    service: Service, tenant: Tenant, api: Client
) -> None:
    due = uuid_of(service, "donationrequest", (await asked(service, api, 1000))["id"])
    async with service.db.write() as tx:
        for paid in [tx.new_id() for _ in range(100)]:
            await tx.execute(
                """
                insert into donation_request
                select $1, partner_id, currency, amount_minor, donations, amount_minor, amount_minor, 'PAID', $2,
                       cutoff_at, false, false, created_at, due_at, created_at
                from donation_request where id = $3
                """,
                paid,
                donation_requests_domain.payment_reference(paid),
                due,
            )
    finance = await desk(service, tenant, "finance")
    home = await finance.get(f"{finance.home}/home")
    assert re.search(r"Donation requests to pay</a></p><p>1</p>", home.text)
    await finance.close()


async def test_a_limit_is_an_amount_above_zero_or_none(service: Service, tenant: Tenant) -> None:
    owner = await desk(service, tenant, "owner")
    page = f"{owner.home}/support-refunds"
    await owner.get(page)
    for typed in ("0", "-1", "many", "1.999"):
        assert (await owner.post(page, EUR=typed, GBP="", USD="")).status_code == 422, typed
    await owner.post(page, EUR="12.00", GBP="", USD="")
    assert 'value="12.00"' in (await owner.get(page)).text
    await owner.post(page, EUR="", GBP="", USD="")
    assert 'value="12.00"' not in (await owner.get(page)).text
    other = await desk(service, tenant, "owner")
    await other.get(page)
    await owner.post(page, EUR="15.00", GBP="", USD="")
    old = {f"stored.{code}": "" for code in ("EUR", "GBP", "USD")}
    assert (await other.post(page, {**old, "EUR": "", "GBP": "9.00", "USD": ""})).status_code == 303
    saved = (await other.get(page)).text
    assert ('value="15.00"' in saved, 'value="9.00"' in saved) == (True, True), "both owners' limits"
    await other.close()
    await owner.close()


def refund_limits_form(owner: Desk) -> dict[str, str]:
    """The form of the open page about refund limits, as it was filled."""
    assert owner.page is not None
    stored = dict(re.findall(r'name="stored\.(\w+)" value="([^"]*)"', owner.page.text))
    return {**stored, **{f"stored.{currency}": value for currency, value in stored.items()}}


async def test_entries_are_called_lost_only_if_some_were_made(service: Service, tenant: Tenant) -> None:
    async with service.db.write() as tx:
        await partners.set_support_refund_limit(tx, tenant.partner, "EUR", 1200)
    owner = await desk(service, tenant, "owner")
    page = f"{owner.home}/support-refunds"
    await owner.get(page)
    form = refund_limits_form(owner)
    await owner.wait()
    for typed, ending in (({}, ""), ({"EUR": "13.00"}, "&typed=lost")):
        answer = await owner.post(page, {**form, **typed})
        assert answer.headers["location"] == f"{owner.home}/prove?next={page}{ending}"
    await owner.close()


async def test_a_limit_whose_currency_the_form_lacks_stays(service: Service, tenant: Tenant) -> None:
    owner = await desk(service, tenant, "owner")
    page = f"{owner.home}/support-refunds"
    await owner.get(page)
    form = refund_limits_form(owner) | {"EUR": "13.00"}
    async with service.db.write() as tx:
        await partners.set_support_refund_limit(tx, tenant.partner, "JPY", 1200)
    assert (await owner.post(page, form)).status_code == 303
    async with service.db.read() as tx:
        limits = await partners.load_support_refund_limits_by_currency(tx, tenant.partner)
    assert limits == {"EUR": 1300, "JPY": 1200}
    await owner.close()


async def test_limits_are_set_in_all_currencies_at_once(service: Service, tenant: Tenant) -> None:
    async with service.db.write() as tx:
        await partners.update_donation_settings(tx, tenant.partner, currencies=list(EXPONENTS))
    owner = await desk(service, tenant, "owner")
    page = f"{owner.home}/support-refunds"
    await owner.get(page)
    form = refund_limits_form(owner) | dict.fromkeys(EXPONENTS, "12")
    assert (await owner.post(page, form)).status_code == 303
    async with service.db.read() as tx:
        assert (await partners.load_support_refund_limits_by_currency(tx, tenant.partner)).keys() == EXPONENTS.keys()
    await owner.close()


async def test_finance_reassigns_a_donation_and_the_log_says_who(service: Service, tenant: Tenant, api: Client) -> None:
    gift, other = await factories.donation(service, api), await factories.nonprofit(service)
    finance = await desk(service, tenant, "finance")
    page = f"{finance.home}/donations/{gift['id']}/reassign"
    form = {"organisationId": other, "ground": "failed_compliance", "reason": "The register removed it."}
    for wrong in ({"organisationId": "nothing"}, {"reason": ""}, {"organisationId": gift["organisationId"]}):
        await finance.get(page)
        refused = await finance.post(page, form | wrong)
        assert (refused.status_code, "could not be reassigned" in refused.text) == (422, True), wrong
    await finance.get(page)
    both = await finance.post(page, form | {"organisationId": "nothing", "reason": ""})
    for problem in ("There is no organisation with this ID", "the reason must have 1 to 500 characters"):
        assert problem in both.text, problem
    [key] = re.findall(r'name="form_key" value="([^"]+)"', (await finance.get(page)).text)
    for _ in range(2):  # a double click
        answer = await finance.post(page, form, form_key=key)
        assert answer.headers["location"].endswith("?done=reassigned")
    assert await entries(service, "donation.reassigned", gift["id"]) == 1
    assert data(await api.get(f"/v1/donations/{gift['id']}"))["organisationId"] == other
    owner = await desk(service, tenant, "owner")
    await owner.get(f"{owner.home}/audit")
    assert finance.person is not None
    assert f"{finance.person.display_name}: " in owner.text()
    for browser in (finance, owner):
        await browser.close()


async def test_what_changes_money_or_secrets_asks_who_it_is_again(
    service: Service, tenant: Tenant, api: Client
) -> None:
    gift, direct = await factories.donation(service, api), await factories.direct(service, api)
    hook = await factories.subscription(api)
    owner = await desk(service, tenant, "owner")
    await owner.wait()
    for path in (
        f"/donations/{gift['id']}/refund",
        f"/donations/{gift['id']}/reassign",
        f"/donations/{direct['id']}/cancel",
        "/support-refunds",
        "/webhooks/new",
        f"/webhooks/{hook['id']}/rotate-secret",
        f"/webhooks/{hook['id']}/delete",
        "/keys/new",
    ):
        answer = await owner.get(owner.home + path)
        assert "/prove?next=" in answer.headers.get("location", ""), path
    await owner.close()
