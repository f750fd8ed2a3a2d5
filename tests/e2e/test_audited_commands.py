"""Every command that writes leaves an audit entry when it succeeds: a new command fails here until it has its place."""

import re
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
import typer

from almoner.access.members import service as members
from almoner.access.people.domain import OperatorRole
from almoner.cli.terminal import commands
from almoner.giving.accounting.disputes import service as disputes
from almoner.giving.accounting.refunds import service as refunding
from almoner.giving.accounting.suspense import service as suspense
from almoner.giving.checkout.donation_requests import flows as donation_requests_flows
from almoner.giving.checkout.donation_requests.domain import PartnerCurrency
from almoner.giving.disbursing.disbursements import flows as disbursements_flows
from almoner.giving.disbursing.disbursements import service as disbursements
from almoner.giving.disbursing.disbursements.domain import DisbursementRules
from almoner.platform.audit import log as audit
from almoner.platform.database.transactions import Partner
from tests.support import bank, bmf, camt, emails, factories, refunds, submissions, transfers
from tests.support import claims as charities
from tests.support import giving as donors
from tests.support.client import Client, data
from tests.support.database import TestDatabase
from tests.support.giftaid import declared
from tests.support.payouts import payouts, settled, simulate, uuid_of, verified
from tests.support.reports import report
from tests.support.requests import asked
from tests.support.service import Service, serving
from tests.support.suspense import held_for
from tests.support.terminal import in_process, leaves, operator
from tests.support.validation import UNHEARD_OF
from tests.support.watchlists import listing, matched, write

NOTE = ("--note", "by telephone")
EVIDENCE, PLOVERS = ("--evidence", "governing_document"), (("CCEW", "1177008"), ("OSCR", "SC047008"))
PROCESSES = frozenset({"run", "serve", "worker", "migrate", "clean", "release-copy", "documents restore"})
"""They run or make the deployment; what they do for somebody has entries of its own."""
READS = frozenset(
    {
        "activities suggest", "approvals list", "audit list", "audit public-key", "audit sign", "audit verify",
        "backups list", "bank-statements gaps", "bank-statements lines", "bank-statements provider-payouts", "check",
        "disbursements holds", "disbursements list", "emails list", "disbursements show", "disputes list",
        "disputes show", "documents trash", "donation-requests list", "donation-requests overpayments",
        "gift-aid claims adjustments", "giving-links refusals", "gift-aid claims list", "keys list",
        "members groups", "members list", "members sso show", "members sso test", "operators list",
        "operators tokens list", "partners list", "payee-accounts list", "payee-accounts show", "watchlists status",
        "payment-files list", "payment-files show", "refunds failed", "refunds list", "refunds show",
        "receipt-donees list", "registers diff", "registers list", "registers show", "registers status",
        "reviews list", "selfcheck", "settlements list", "settlements unmatched", "settlements unreconciled",
        "unallocated-payments list", "verifications flags", "verifications list", "verifications show",
    }
)  # fmt: skip

BOUND = """
insert into sign_on_identity (partner_id, issuer, subject, person_id, bound_by, bound_at, last_used_at)
select $1, 'https://id.example.org', 'ann', id, 'account', now(), now()
from person where partner_id = $1 and user_name = 'ann@example.org'
"""
"""As when she came from the provider."""
WAITING_LINES = "select id from bank_statement_line where status = 'open' order by id"

ALL = frozenset(leaves(typer.main.get_command(commands)))


@dataclass
class World:
    """A terminal of somebody who may do everything; ``written``: the commands that succeeded and left an entry."""

    service: Service
    home: Path
    api: Client
    written: set[str] = field(default_factory=set)

    async def open(self) -> None:
        """The officers: two, since some decisions take somebody else."""
        roles: tuple[OperatorRole, ...] = ("administrator", "finance", "reviewer")
        self.me = await operator(self.service, *roles)
        (self.home / "accounts.toml").write_text(bank.OWN)
        ours = {"bank_accounts": str(self.home / "accounts.toml")}
        self.typed = in_process(self.service, self.home, self.me, **ours)
        self.other = in_process(self.service, self.home, await operator(self.service, *roles), **ours)

    async def entries(self) -> int:
        """How many there are."""
        async with self.service.db.read() as tx:
            return int(await tx.fetchval("select count(*) from audit_entry"))

    async def does(self, *words: str, other: bool = False) -> str:
        """Type a command that must succeed and be recorded; what was printed."""
        command = next(one for count in (3, 2, 1) if (one := " ".join(words[:count])) in ALL)
        before = await self.entries()
        status, printed = await (self.other if other else self.typed)(*words)
        assert status == 0, (words, printed)
        assert await self.entries() > before, f"almoner {command} wrote and left no entry"
        self.written.add(command)
        return printed

    def text(self, type_: str, id_: Any) -> str:
        """A text id."""
        return self.service.db.deployment.ids.encode(type_, id_)


def word(printed: str, name: str) -> str:
    """What stands after a name."""
    return next(line.split()[1] for line in printed.splitlines() if line.split()[:1] == [name])


@pytest.fixture
async def world(empty_database: TestDatabase, tmp_path: Path) -> AsyncIterator[World]:
    """A service of its own that lives in the time of the commands."""
    async with serving(empty_database) as service:
        service.clock.advance_to(service.clock.real_now())
        api = service.client((await service.tenant()).secret)
        made = World(service, tmp_path, api)
        await made.open()
        yield made
        await api.close()


async def test_v8_every_writing_command_leaves_an_entry_when_it_succeeds(world: World) -> None:
    await partners_keys_and_members(world)
    await the_operators(world)
    await registers_and_verifications(world)
    await the_queue(world)
    await settlements_and_held_money(world)
    await gift_aid_claims(world)
    await donation_requests(world)
    await gift_aid(world)
    await payouts_and_reassignments(world)
    rejected = await emails.undeliverable(world.service.db, world.service.clock.now())
    await world.does("emails", "resend", world.text("email", rejected))
    await world.does("backups", "record", "settings")
    assert world.written | READS | PROCESSES == ALL, "give a new command its place: what it writes, or that it reads"
    assert not world.written & (READS | PROCESSES)


async def partners_keys_and_members(world: World) -> None:
    partner = word(await world.does("partners", "create", "Bright Bank"), "partner")
    await world.does("partners", "brand", partner, "--colour", "#E6007E")
    await world.does("partners", "receipt-issuer", partner, "--name", "Bright Bank Foundation")
    named = ("--legal-name", "F", "--ein", "123456789", "--address", "A")
    donee = (await world.does("receipt-donees", "propose", partner, *named, *NOTE)).split()[0]
    await world.does("receipt-donees", "approve", donee, "--ein", "123456789", *NOTE, other=True)
    await world.does("receipt-donees", "end", donee)
    await world.does("partners", "settings", partner, "--currency", "GBP")
    await world.does("partners", "links", partner, "--website", "https://shop.example")
    await world.does("partners", "scim", partner, "--on")
    await world.does("partners", "rate-limits", partner, "--secret", "200/400")
    await world.does("partners", "pause", partner, "--reason", "Complaints about its donation pages")
    await world.does("partners", "resume", partner)
    key = word(await world.does("keys", "create", "--partner", partner, "--name", "till"), "key")
    key = word(await world.does("keys", "rotate", key), "key")
    await world.does("keys", "revoke", key)
    await world.does("members", "add", partner, "ann@example.org", "--role", "owner")
    await world.does("members", "add", partner, "bo@example.org", "--role", "developer")
    await world.does("members", "set-roles", partner, "bo@example.org", "--role", "finance")
    await world.does("members", "update", partner, "bo@example.org", "--name", "Bo Okafor")
    await world.does("members", "resend-invitation", partner, "bo@example.org")
    await world.does("members", "reset-second-factor", partner, "bo@example.org")
    await world.does("members", "deactivate", partner, "bo@example.org")
    await world.does("members", "activate", partner, "bo@example.org")
    await world.does("members", "remove", partner, "bo@example.org")
    scope = await world.service.tenant()
    async with world.service.db.write() as tx:
        group = world.text("group", (await members.create_group(tx, scope.partner, {"displayName": "Bookkeepers"})).id)
    await world.does("members", "map-group", world.text("partner", scope.partner.id), group, "finance")
    provider = ("--name", "ID", "--issuer", "https://id.example.org", "--client-id", "almoner", "--public-client")
    await world.does("members", "sso", "set", partner, *provider)
    async with world.service.db.write() as tx:
        await tx.execute(BOUND, tx.ids.decode("partner", partner))
    await world.does("members", "sso", "unlink", partner, "ann@example.org")
    await world.does("members", "sso", "remove", partner)


async def the_operators(world: World) -> None:
    await world.does("operators", "add", "carl@example.org", "--name", "Carl", "--role", "reviewer")
    _, listed = await world.typed("operators", "list")
    carl = next(word for line in listed.splitlines() if "carl@" in line for word in line.split() if "operator_" in word)
    await world.does("operators", "resend-invitation", carl)
    await world.does("operators", "set-roles", carl, "--role", "finance")
    await world.does("operators", "update", carl, "--name", "Carl Gustav")
    await world.does("operators", "reset-second-factor", carl)
    await world.does("operators", "deactivate", carl)
    await world.does("operators", "activate", carl)
    await world.does("operators", "two-person-approval", "on")
    await world.does("operators", "two-person-approval", "off")
    spare = await operator(world.service, "reviewer")
    _, listed = await world.typed("operators", "tokens", "list", spare.id)
    token = next(word for word in listed.split() if "token_" in word)
    await world.does("operators", "tokens", "revoke", token)


async def registers_and_verifications(world: World) -> None:
    file = bmf.write(world.home / "eo_wy.csv", bmf.bodies(3))
    await world.does("registers", "import", "irs-bmf", str(file), "--as-of", "2026-03-01")
    named = write(world.home / "sdn.csv", [listing(1, "ZAVOD IMENI DEGTYAREVA")])
    await world.does("watchlists", "import", "ofac-sdn", str(named), "--force")
    match = await matched(world.service, "Zavod imeni Degtyareva")
    await world.does("reviews", "show", match)
    await world.does("reviews", "accept", match, *NOTE)
    await world.does("reviews", "reopen", match, *NOTE)
    await world.does("watchlists", "retire", "ofac-sdn")
    await world.does("activities", "apply")
    await world.does("registers", "rollback", "irs-bmf")
    nonprofit = await factories.nonprofit(world.service)
    await world.does("organisations", "reindex")
    await world.does("organisations", "brand", nonprofit, "--colour", "#E6007E")
    await world.does("agents", "set-contact", nonprofit, "info@relief.example", "--source", "the register's page")
    approved, rejected = [await factories.verification(world.service, world.api) for _ in range(2)]
    await world.does("verifications", "approve", approved["id"], *NOTE)
    await world.does("verifications", "reject", rejected["id"], "--reason", "other", *NOTE)
    await world.does("verifications", "reopen", rejected["id"], *NOTE)
    await a_flag(world, rejected["organisationId"])


async def a_flag(world: World, nonprofit: str) -> None:
    proposing = (
        "payee-accounts", "propose", nonprofit, "--currency", "USD", "--holder", "A", "--town", "B", "--country", "USA",
        "--routing", "011000015", "--account", "987654321", *NOTE,
    )  # fmt: skip
    await world.does("agents", "set-contact", nonprofit, "info@relief.example", "--source", "the register's page")
    [pending] = data(await world.api.get("/v1/monetary-donation-verifications", organisationId=nonprofit))
    await world.does("verifications", "request-confirmation", pending["id"], "--language", "de")
    account = (await world.does(*proposing, other=True)).split()[0]
    await world.does("payee-accounts", "approve", account, "--number", "011000015 987654321", *NOTE)
    _, printed = await world.typed("verifications", "flags")
    flag = next(one for one in printed.split() if "verificationflag_" in one)
    await world.does("verifications", "clear-flag", flag, *NOTE)
    await world.does("verifications", "clear-flag", flag, *NOTE, other=True)


async def the_queue(world: World) -> None:
    asked = {"name": "Relief", "registryName": "IRS", "website": "https://example.org", "countryCode": "USA"}
    asked["registryId"] = "53-0196605"  # nothing is known of it: no rule may decide
    accepted = data(await world.api.post("/v1/validation-requests", asked))
    configuration = await submissions.configured(world.api, "validation_request")
    case = (await submissions.applied(world.api, configurationId=configuration, **UNHEARD_OF))["validationRequestId"]
    await world.service.drain()
    for act, *more in (("show",), ("release",), ("show",), ("accept", *NOTE)):
        await world.does("reviews", act, accepted["id"], *more)
    made = data(await world.api.get(f"/v1/validation-requests/{accepted['id']}"))["organisationId"]
    await world.does("organisations", "publish", made, *NOTE)
    pair = [await factories.listed(world.service, "Plover", *one) for one in PLOVERS]
    for act in ("merge", "separate"):
        await world.does("organisations", act, *pair, *NOTE)
    for act, *more in (("show",), ("request", *EVIDENCE), ("reject", "--reason", "other", *NOTE)):
        await world.does("reviews", act, case, *more)


async def settlements_and_held_money(world: World) -> None:
    for what in ("refund", "write-off"):
        api = world.service.client((await world.service.tenant()).secret)
        giving = await donors.open_session(world.service, api)
        held = world.text("heldpayment", (await held_for(giving, "unknown_payment")).id)
        await world.does("unallocated-payments", what, held, *NOTE)
        await api.close()
    giving = await donors.open_session(world.service, world.api)
    await transfers.begun(giving)
    named = await transfers.reference(giving)
    await transfers.stated(giving, transfers.came("AUDIT-3", 2400, named), reference="AUDIT-3")
    async with world.service.db.write() as tx:
        [short] = await suspense.lock_by_reference(tx, named)
    await world.does("unallocated-payments", "apply", world.text("heldpayment", short.id), *NOTE)
    for what in ("mark-sent", "mark-failed", "retry"):
        gift = await factories.donation(world.service, world.api)
        await world.does("refunds", "create", gift["id"], "--amount", "100", *NOTE)
        (refund,) = await refunds.of(world.service, gift)
        reported = {"mark-sent": ("--reference", f"tpr_{gift['id']}", *NOTE), "mark-failed": NOTE}.get(what, ())
        await world.does("refunds", what, world.text("refund", refund.id), *reported)
    gift = await factories.donation(world.service, world.api)
    unsent = await refunds.begun(world.service, gift)
    async with world.service.db.write() as tx:
        await refunding.record_provider_refusal(tx, unsent.id, "the card is closed")
    await world.does("refunds", "resolve", world.text("refund", unsent.id), *NOTE)
    for what in ("mark-won", "mark-lost", "refresh"):
        disputed = await factories.donation(world.service, world.api)
        await simulate(world.api, disputed["id"], "dispute")
        async with world.service.db.read() as tx:
            [newest] = await disputes.list_newest(tx, ["open"], 1)
        reported = NOTE if what != "refresh" else ()
        await world.does("disputes", what, world.text("dispute", newest.id), *reported)
    await factories.donation(world.service, world.api)
    file = world.home / "po_1.csv"
    file.write_bytes(report(("payment", "tp_nobody", 1.0, 0.0), reference="po_1"))
    await world.does("settlements", "import", "test", str(file))
    async with world.service.db.read() as tx:
        [entry] = await audit.list_entries(tx, audit.DEPLOYMENT, limit=1)
    assert (entry.action, entry.details and entry.details["reference"]) == ("settlement.imported", "po_1")
    before = await world.entries()
    file.write_bytes(report(("payment", "tp_other", 2.0, 0.0), reference="po_1"))
    assert (await world.typed("settlements", "import", "test", str(file)))[0] == 1
    assert await world.entries() == before, "nothing was imported: nothing says that it was"
    await world.does("settlements", "dismiss", "test", "po_1", "tp_nobody", *NOTE)


async def donation_requests(world: World) -> None:
    await factories.direct(world.service, world.api, amount=1000)
    world.service.clock.advance(days=32)
    await donation_requests_flows.invoice_partner(
        world.service.db, PartnerCurrency((await _partner(world)).id, "USD"), end_period_now=True
    )
    [request] = data(await world.api.get("/v1/donation-requests"))
    transfer = ("--bank-reference", "TX-AUDITED")
    printed = await world.does("donation-requests", "record-payment", request["reference"], "12.00", "USD", *transfer)
    assert printed == (
        f"12.00 USD has been recorded for {request['reference']}.\nThe payment includes an overpayment of 2.00 USD, "
        "which is held: see `almoner donation-requests overpayments`.\n"
    )
    _, listed = await world.typed("donation-requests", "overpayments")
    held = next(word for word in listed.split() if "requestpayment_" in word)
    await factories.direct(world.service, world.api, amount=150)
    await donation_requests_flows.invoice_partner(
        world.service.db, PartnerCurrency((await _partner(world)).id, "USD"), end_period_now=True
    )
    other = data(await world.api.get("/v1/donation-requests"))[0]["reference"]
    assert await world.does("donation-requests", "apply-overpayment", held, other, *NOTE) == (
        f"1.50 USD has been applied to {other}.\n"
        "0.50 USD is still held: see `almoner donation-requests overpayments`.\n"
    )
    _, listed = await world.typed("donation-requests", "overpayments")
    held = next(word for word in listed.split() if "requestpayment_" in word)
    assert await world.does("donation-requests", "return-overpayment", held, *NOTE) == "0.50 USD has been returned.\n"
    await world.does("donation-requests", "run")
    async with world.service.db.read() as tx:
        [entry] = await audit.list_entries(tx, audit.DEPLOYMENT, limit=1)
    assert (entry.action, entry.details) == ("donation_requests.run", {"made": 0, "waiting": 0})
    before = await world.entries()
    for words, stated in {
        (request["reference"], "1.00", "USD", *transfer): "the transfer TX-AUDITED has already been recorded",
        ("ALM-AAAAA-AAAAA", "1.00", "USD", "--bank-reference", "x"): "there is no donation request ALM-AAAAA-AAAAA",
        (request["id"], "1.001", "USD", "--bank-reference", "x"): "'1.001' is not an amount in USD such as 1234.56",
        (request["id"], "0", "USD", "--bank-reference", "x"): "'0' is not an amount in USD such as 1234.56",
        (request["id"], "1", "XXX", "--bank-reference", "x"): "'XXX' is not an active ISO 4217 currency",
    }.items():
        status, printed = await world.typed("donation-requests", "record-payment", *words)
        assert status != 0
        assert stated in " ".join(printed.replace("│", " ").split()), printed
    assert await world.entries() == before


async def gift_aid(world: World) -> None:
    made = await declared(world.api)
    printed = await world.does("gift-aid", "cancel-declaration", made["id"], "--from", "2026-01-31")
    assert printed == f"{made['id']} no longer covers donations made on or after 2026-01-31T00:00:00.000Z.\n"
    before = await world.entries()
    for words, stated in {
        (made["id"],): "the declaration was already cancelled on",
        (world.service.db.deployment.ids.example_id("giftaid"),): "there is no Gift Aid declaration",
        (made["id"], "--from", "someday"): "--from 'someday'",
    }.items():
        status, reported = await world.typed("gift-aid", "cancel-declaration", *words)
        assert status != 0
        assert stated in " ".join(reported.replace("│", " ").split()), reported
    assert await world.entries() == before


async def _partner(world: World) -> Partner:
    async with world.service.db.read() as tx:
        return Partner(await tx.fetchval("select partner_id from donation where status = 'ACTIVE' limit 1"))


async def accounts_and_bank_files(world: World, nonprofit: str) -> None:
    proposing = (
        "payee-accounts", "propose", nonprofit, "--currency", "USD", "--holder", "A", "--town", "B", "--country", "USA",
        "--routing", "011000015", "--account", "123456789", *NOTE,
    )  # fmt: skip
    refused = (await world.does(*proposing)).split()[0]
    await world.does("payee-accounts", "reject", refused, *NOTE, other=True)
    approved = (await world.does(*proposing)).split()[0]
    await world.does("payee-accounts", "approve", approved, "--number", "011000015 123456789", *NOTE, other=True)
    made = (await world.does("payment-files", "create", "USD")).split()[0]
    await world.does("payment-files", "withdraw", made, *NOTE)
    made = (await world.does("payment-files", "create", "USD")).split()[0]
    out = world.home / "payments.xml"
    await world.does("payment-files", "release", made, "--out", str(out), other=True)
    await world.does("payment-files", "export", made, "--out", str(world.home / "again.xml"), *NOTE)
    answer = world.home / "answer.xml"
    answer.write_bytes(bank.answer_to(out.read_text().partition("<MsgId>")[2].partition("<")[0], whole="ACSP"))
    await world.does("payment-files", "import-status", str(answer))
    statement = world.home / "statement.xml"
    request = await asked(world.service, world.api, 700)
    moved = [camt.entry(name, 700, currency="USD") for name in ("AUDIT-1", "AUDIT-2")]
    statement.write_bytes(camt.statement(*moved, currency="USD", account=camt.other(bank.NUMBER)))
    await world.does("bank-statements", "import", str(statement))
    async with world.service.db.read() as tx:
        lines = [world.text("bankline", row[0]) for row in await tx.fetch(WAITING_LINES)]
    await world.does("bank-statements", "match", lines[0], "--request", request["reference"])
    await world.does("bank-statements", "dismiss", lines[1], *NOTE)
    await world.does("bank-statements", "reopen", lines[1], *NOTE)
    assert (await world.typed("bank-statements", "reopen", lines[0], *NOTE))[0] == 1, "its money is booked"
    await world.does("bank-statements", "dismiss", lines[1], *NOTE)
    account = camt.other(bank.NUMBER)
    statement.write_bytes(
        camt.statement(opening=1, currency="USD", account=account, reference="AUDIT-2", day="2026-03-03")
    )
    await world.does("bank-statements", "import", str(statement))
    async with world.service.db.read() as tx:
        gap = world.text("bankstatement", await tx.fetchval("select id from bank_statement_gap limit 1"))
    await world.does("bank-statements", "explain", gap, *NOTE)
    async with world.service.db.read() as tx:
        report = await tx.fetchval("select provider || '/' || reference from unreconciled_settlement limit 1")
    await world.does("bank-statements", "explain", report, *NOTE)
    assert (await world.typed("bank-statements", "explain", report, *NOTE))[0] == 1


async def gift_aid_claims(world: World) -> None:
    api = world.service.client((await world.service.tenant()).secret)
    cause = await charities.cause(world.service, api)
    given = await cause.gift(1000)
    await cause.paid()
    await simulate(api, given["id"], "refund", amount=600)
    await cause.gift(2000)
    left = await cause.unclaimable_gift(2000, first_name=None)
    claims = ("gift-aid", "claims")
    sums = "Donations: 1, total 20.00 GBP. Lines: 1. 5.00 GBP, less an adjustment of 1.50 GBP: 3.50 GBP is due."

    async def drafted() -> str:
        return word(await world.does(*claims, "draft", "--organisation", cause.organisation), "claim")

    first = await drafted()
    status, reported = await world.typed(
        *claims, "draft", "--organisation", cause.organisation, "--before", "2020-01-01"
    )
    assert (status, reported) == (0, "There are no donations to claim Gift Aid on.\n")
    assert sums in await world.does(*claims, "withdraw", first, *NOTE)
    assert sums in await world.does(*claims, "mark-submitted", second := await drafted(), "--reference", "CH-1")
    assert sums in await world.does(*claims, "mark-rejected", second, *NOTE)
    printed = await world.does(*claims, "draft", "--organisation", cause.organisation)
    assert printed.splitlines()[0] == f"Left out {left['id']}: the first name is missing, and needed to claim Gift Aid"
    assert printed.splitlines()[2] == sums
    third = word(printed, "claim")
    printed = await world.does(*claims, "schedule", third)
    assert printed.splitlines()[1].startswith("Ms,Ada,Byron,12,SW1Y 4JH,,,")
    out = world.home / "schedule.csv"
    await world.does(*claims, "schedule", third, "--out", str(out))
    assert out.read_text("utf-8").splitlines() == printed.splitlines()
    assert out.stat().st_mode & 0o777 == 0o600
    assert sums in await world.does(*claims, "mark-submitted", third, "--reference", "CH-2")
    before = await world.entries()
    unknown = world.service.db.deployment.ids.example_id("giftaidclaim")
    for words, stated in {
        ("schedule", third, "--out", str(out)): "already exists: choose another file",
        ("schedule", unknown, "--out", str(world.home / "never.csv")): "there is no claim",
        ("mark-paid", third, "--amount", "5.00"): "3.50 GBP is due: use --note to say why HMRC paid 5.00 GBP",
        ("withdraw", third, *NOTE): "the claim is submitted, so it cannot be withdrawn",
        ("mark-paid", unknown): "there is no claim",
        ("draft", "--organisation", cause.organisation, "--year-end", "02-29"): "must be a day of every year",
        ("draft", "--organisation", cause.organisation, "--before", "soon"): "--before 'soon'",
    }.items():
        status, reported = await world.typed(*claims, *words)
        assert status != 0
        assert stated in " ".join(reported.replace("│", " ").split()), reported
    assert await world.entries() == before
    assert not (world.home / "never.csv").exists()
    assert sums in await world.does(*claims, "mark-paid", third)
    await cause.gift(3000)
    await api.close()
    printed = await world.does(*claims, "draft", "--organisation", cause.organisation)
    assert printed.splitlines()[2] == "Donations: 1, total 30.00 GBP. Lines: 1. 7.50 GBP is due."
    _, listed = await world.typed(*claims, "list", "--organisation", cause.organisation)
    rows = [re.split(" {2,}", line.replace(" GBP", ""))[3:9] for line in listed.splitlines()[1:]]
    assert rows == [
        ["drafted", "1", "30.00", "0.00", "7.50", "-"],
        ["paid", "1", "20.00", "1.50", "3.50", "3.50"],
        ["rejected", "1", "20.00", "1.50", "3.50", "-"],
        ["withdrawn", "1", "20.00", "1.50", "3.50", "-"],
        ["paid", "1", "10.00", "0.00", "2.50", "2.50"],
    ]


async def payouts_and_reassignments(world: World) -> None:
    service, api = world.service, world.api
    nonprofit, other = [await factories.nonprofit(service) for _ in range(2)]
    given = await factories.donation(service, api)
    await world.does("donations", "reassign", given["id"], other, "--reason", "merged", "--note", "it merged")
    await verified(service, api, nonprofit)
    await settled(service, api, nonprofit)
    await world.does("disbursements", "hold", nonprofit, *NOTE)
    await world.does("disbursements", "release", nonprofit, *NOTE, other=True)
    await world.does("giving-links", "refuse", nonprofit, *NOTE)
    await world.does("giving-links", "allow", nonprofit)
    await disbursements_flows.add_settled_donations_to_disbursements(service.db, DisbursementRules())
    [payout] = await payouts(api, organisationId=nonprofit)
    id_ = uuid_of(service, "disbursement", payout["id"])
    async with service.db.write() as tx:
        await disbursements.send_disbursement(tx, id_, DisbursementRules())  # as in production, where a person confirms
    await accounts_and_bank_files(world, nonprofit)
    await world.does("disbursements", "remittance", payout["id"], "--pdf", str(world.home / "remittance.pdf"))
    await world.does("disbursements", "confirm", payout["id"])
    await world.does("disbursements", "mark-returned", payout["id"], "--reason", "account closed")
    await world.does("disbursements", "run")
    async with service.db.read() as tx:
        [entry] = await audit.list_entries(tx, audit.DEPLOYMENT, limit=1)
    assert (entry.action, entry.details) == ("disbursements.run", {"sent": 0, "refused": 0})
