"""`almoner operators` and `approvals`: who decides at a terminal is true, and money takes two (V8)."""

import asyncio
import re
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

import almoner
from almoner.access.credentials.domain import AuditContext
from almoner.access.operators import service as operators
from almoner.access.operators.domain import parse_token_lifetime
from almoner.access.people import service as people
from almoner.access.people.domain import OPERATORS
from almoner.platform.audit import log as audit
from almoner.platform.audit.log import Actor
from tests.support import factories
from tests.support.client import Client, data
from tests.support.database import TestDatabase
from tests.support.payouts import gift, settled, uuid_of, verified
from tests.support.people import person
from tests.support.service import Service, serving
from tests.support.terminal import BY, Operator, at_a_tty, in_process, operator, terminal

PATH = "/v1/monetary-donation-verifications"
SAMPLE = Path(almoner.__file__).parent / "samples" / "us_irs_bmf" / "2026-04-13"
NO_TOKEN = "This command needs an operator token. Set ALMONER_OPERATOR_TOKEN, or enter the token at a terminal."


@pytest.fixture
async def service(empty_database: TestDatabase) -> AsyncIterator[Service]:
    """A service of its own, without operators, that lives in the time of the commands."""
    async with serving(empty_database) as made:
        made.clock.advance_to(made.clock.real_now())
        yield made


@pytest.fixture
async def careful(service: Service) -> None:
    """Approvals and releases take two."""
    async with service.db.write() as tx:
        await operators.set_two_person_approval(tx, BY, required=True)


async def audited(service: Service, scope: Any = audit.DEPLOYMENT) -> list[tuple[str, str]]:
    """Who did what, oldest first."""
    async with service.db.read() as tx:
        return [(one.actor.kind, one.action) for one in reversed(await audit.list_entries(tx, scope))]


async def token_of(service: Service, operator_id: str, name: str, days: int = 90) -> Operator:
    """What an operator makes at /operator/tokens."""
    async with service.db.write() as tx:
        person = await people.get(tx, OPERATORS, uuid_of(service, "operator", operator_id))
        by = AuditContext(Actor("operator", operator_id), None)
        return Operator(
            operator_id, name, (await operators.create_token(tx, by, person, "short", parse_token_lifetime(days)))[1]
        )


def word(printed: str, name: str) -> str:
    """What stands behind a name."""
    found = re.search(rf"^{name} +(\S+)$", printed, re.MULTILINE)
    assert found is not None, printed
    return found[1]


async def test_the_first_operator_is_added_by_the_machine_and_others_by_administrators(
    service: Service, tmp_path: Path
) -> None:
    nobody = in_process(service, tmp_path)
    add = ("operators", "add", "ada@example.org", "--name", "Ada")
    too_long = (1, "name: must be 255 characters or fewer\n")
    assert await nobody(*add[:-1], "A" * 256, "--role", "administrator") == too_long
    status, reported = await nobody(*add, "--role", "finance")
    assert (status, "--role administrator" in " ".join(reported.split())) == (2, True), reported
    status, reported = await nobody(*add, "--role", "finance", "--role", "administrator")
    assert status == 0, reported
    ada = Operator(word(reported, "operator"), "Ada", word(reported, "token"))
    assert await audited(service) == [("machine", "operator.invited"), ("machine", "operator_token.created")]
    another = ("operators", "add", "bo@example.org", "--name", "Bo", "--role", "reviewer")
    status, reported = await nobody(*another)
    assert (status, reported.startswith(NO_TOKEN), reported.count("\n")) == (1, True, 1)
    hers = in_process(service, tmp_path, ada)
    status, reported = await hers(*another)
    assert (status, "token  " in reported, "invitation?" in reported) == (0, False, False), (
        "mailed, and shown to nobody"
    )
    bo = word(reported, "operator")
    his = in_process(service, tmp_path, await token_of(service, bo, "Bo"))
    assert (await hers("operators", "token", bo, "--name", "another"))[0] == 2, "nobody makes others' tokens"
    status, reported = await his("operators", "add", "carl@example.org", "--role", "reviewer")
    assert (status, reported) == (
        1,
        (
            "Bo lacks the role administrator: Ada can grant it under Operators in the console, or with `almoner "
            f"operators set-roles {bo}`.\n"
        ),
    )
    assert await hers("operators", "update", bo, "--name", "B" * 256) == too_long
    assert (await hers("operators", "set-roles", "bo@example.org", "--role", "finance"))[
        1
    ] == f"Bo ({bo}) is finance.\n"
    status, reported = await hers("operators", "set-roles", ada.id, "--role", "administrator", "--role", "reviewer")
    assert (status, reported) == (
        1,
        "You cannot change your own roles. Another administrator can change them for you.\n",
    )
    changed = await hers("operators", "update", bo, "--email", "bo.okafor@example.org", "--name", "Bo Okafor")
    assert changed == (0, f"Bo Okafor ({bo}) signs in as bo.okafor@example.org.\n")
    _, listed = await nobody("operators", "list")
    assert [fact in listed for fact in (ada.id, bo, "administrator, finance", "bo.okafor@", "invited")] == [True] * 5
    status, reported = await hers("operators", "deactivate", ada.id)
    assert (status, reported.startswith("Ada is the last administrator")) == (1, True)
    assert "under Operators in the console or with `almoner operators add`" in reported
    await service.drain()
    assert {("operator", "operator.roles_changed"), ("operator", "operator.changed")} <= set(await audited(service))


async def test_v8_two_administrators_change_the_address_of_an_operator_who_signs_in(
    service: Service, tmp_path: Path
) -> None:
    ada, cleo = [await operator(service, "administrator", name=name) for name in ("Ada", "Cleo")]
    bo = await person(service, OPERATORS, "bo@example.org", "finance")
    update = ("operators", "update", "bo@example.org", "--email", "bo.okafor@example.org")
    status, reported = await in_process(service, tmp_path, ada)(*update)
    assert (status, "once another administrator has entered it, too" in reported) == (0, True), reported
    status, reported = await in_process(service, tmp_path, ada)(*update)
    assert (status, "has already confirmed this (1 of 2)" in reported) == (1, True), reported
    status, reported = await in_process(service, tmp_path, cleo)(*update)
    name = service.db.deployment.ids.encode("operator", bo.id)
    assert (status, reported) == (0, f"Bo ({name}) signs in as bo.okafor@example.org.\n")


async def test_a_token_that_opens_nothing_is_refused_in_one_line(service: Service, tmp_path: Path) -> None:
    ada, bo = await operator(service, "administrator", name="Ada"), await operator(service, "finance", name="Bo")
    hers, his = in_process(service, tmp_path, ada), in_process(service, tmp_path, bo)
    assert (await his("disbursements", "run"))[0] == 0
    short = await token_of(service, bo.id, "Bo", days=1)
    _, listed = await hers("operators", "tokens", "list", bo.id)
    assert [fact in listed for fact in ("short", f"...{short.token[-4:]}")] == [True, True]
    assert short.token not in listed
    found = re.search(r"^(\S+) .* short ", listed, re.MULTILINE)
    assert found is not None
    assert (await hers("operators", "tokens", "revoke", found[1]))[0] == 0
    wrong = Operator(bo.id, "Bo", f"{bo.token[:-1]}{'b' if bo.token[-1] == 'a' else 'a'}")
    for who, why in ((short, "is revoked"), (wrong, "This is not a token of this deployment"), (ada, "lacks the role")):
        status, reported = await in_process(service, tmp_path, who)("disbursements", "run")
        assert (status, why in reported, reported.count("\n")) == (1, True, 1), reported
        assert who.token not in reported
    async with service.db.write() as tx:
        person, token = await operators.authenticate(tx, bo.token)
        assert token.last_used_at is not None
    assert (await hers("operators", "deactivate", bo.id))[1] == f"Bo ({bo.id}) has been deactivated.\n"
    status, reported = await his("disbursements", "run")
    assert (status, reported) == (1, "Bo is deactivated. Ask an administrator for help.\n")
    assert (await hers("operators", "activate", bo.id))[0] == 0
    assert "is revoked" in (await his("disbursements", "run"))[1]
    async with service.db.read() as tx:
        assert (await people.get(tx, OPERATORS, person.id)).active


async def test_a_token_is_asked_for_at_a_terminal_and_not_shown(service: Service, tmp_path: Path) -> None:
    ada = await operator(service, "finance")
    shown = await asyncio.to_thread(at_a_tty, service, tmp_path, ada.token, "disbursements", "run")
    assert "Operator token: " in shown
    assert "Nothing was sent." in shown
    assert ada.token not in shown


async def test_every_deciding_command_asks_who(service: Service, api: Client, tmp_path: Path) -> None:
    record = await factories.verification(service, api)
    organisation, donation = record["organisationId"], (await factories.donation(service, api))["id"]
    payout = service.db.deployment.ids.example_id("disbursement")
    held = service.db.deployment.ids.example_id("heldpayment")
    report = tmp_path / "report.csv"
    report.write_text("x")
    administrator = await operator(service, "administrator")
    before = len(await audited(service))
    note = ("--note", "x")
    for words in (
        ("verifications", "approve", record["id"], *note),
        ("verifications", "reject", record["id"], "--reason", "other", *note),
        ("verifications", "reopen", record["id"], *note),
        ("disbursements", "run"),
        ("disbursements", "confirm", payout),
        ("disbursements", "mark-returned", payout, "--reason", "x"),
        ("disbursements", "hold", organisation, *note),
        ("disbursements", "release", organisation, *note),
        ("donations", "reassign", donation, organisation, "--reason", "merged", "--note", "x"),
        ("unallocated-payments", "refund", held, *note),
        ("unallocated-payments", "write-off", held, *note),
        ("settlements", "import", "test", str(report)),
        ("settlements", "dismiss", "test", "po", "tp", *note),
    ):
        status, reported = await in_process(service, tmp_path)(*words)
        assert (status, reported.startswith(NO_TOKEN), reported.count("\n")) == (1, True, 1), (words, reported)
        role = "reviewer" if words[0] == "verifications" else "finance"
        status, reported = await in_process(service, tmp_path, administrator)(*words)
        assert (status, f"lacks the role {role}" in reported, reported.count("\n")) == (1, True, 1), (words, reported)
    assert len(await audited(service)) == before, "nothing was done, nothing is told"


async def test_partners_and_keys_are_the_machines_until_there_is_an_operator(service: Service, tmp_path: Path) -> None:
    nobody = in_process(service, tmp_path)
    status, reported = await nobody("partners", "create", "Bright Bank")
    assert status == 0, reported
    partner = word(reported, "partner")
    scope = uuid_of(service, "partner", partner)
    started = [("machine", "partner.added"), ("machine", "key.created"), ("machine", "key.created")]
    assert await audited(service, scope) == started
    await operator(service, "administrator")
    for is_there in (False, True):
        status, reported = await nobody("keys", "create", "--partner", partner, "--name", "till")
        assert (status, reported.startswith(NO_TOKEN)) == (1, True)
        assert ("sandbox.json contains the demo operators" in reported) == is_there
        (tmp_path / "sandbox.json").touch()
    administrator = in_process(service, tmp_path, await operator(service, "administrator"))
    status, reported = await administrator("keys", "create", "--partner", partner, "--name", "x")
    assert status == 0, reported
    assert await audited(service, scope) == [*started, ("operator", "key.created")]


@pytest.mark.usefixtures("careful")
async def test_v8_an_approval_takes_two_reviewers(service: Service, api: Client, tmp_path: Path) -> None:
    ada, bo = await operator(service, "reviewer", name="Ada"), await operator(service, "reviewer", name="Bo")
    hers, his = (terminal(service, tmp_path, by=one) for one in (ada, bo))
    made = await factories.verification(service, api)
    approve = ("verifications", "approve", made["id"], "--note")
    status, reported = await hers(*approve, "a voided cheque")
    assert status == 0, reported
    assert reported.startswith(
        "Confirmed by Ada (1 of 2). A second operator with the role reviewer must run the same command before "
    )
    assert data(await api.get(f"{PATH}/{made['id']}"))["status"]["type"] == "pending"
    status, reported = await hers(*approve, "again")
    assert (status, reported.startswith("Ada has already confirmed this (1 of 2)"), reported.count("\n")) == (
        1,
        True,
        1,
    )
    _, waiting = await hers("approvals", "list")
    for fact in ("verification.approve", made["id"], "Ada", "a voided cheque"):
        assert fact in waiting
    assert await his(*approve, "by telephone") == (0, f"{made['id']} is approved.\n")
    assert made["id"] not in (await hers("approvals", "list"))[1]
    _, shown = await hers("verifications", "show", made["id"])
    for fact in (f"Ada ({ada.id})", "a voided cheque", f"Bo ({bo.id})", "by telephone"):
        assert fact in shown


@pytest.mark.usefixtures("careful")
async def test_a_first_look_is_void_when_the_subject_changed(service: Service, api: Client, tmp_path: Path) -> None:
    ada, bo = await operator(service, "reviewer", name="Ada"), await operator(service, "reviewer", name="Bo")
    hers, his = in_process(service, tmp_path, ada), in_process(service, tmp_path, bo)
    made = await factories.verification(service, api)
    approve = ("verifications", "approve", made["id"], "--note", "x")
    await hers(*approve)
    assert (await his("verifications", "reject", made["id"], "--reason", "other", "--note", "no"))[0] == 0
    assert (await his("verifications", "reopen", made["id"], "--note", "after all"))[0] == 0
    assert "Confirmed by Bo (1 of 2)" in (await his(*approve))[1]
    assert (await hers(*approve))[1] == f"{made['id']} is approved.\n"


@pytest.mark.usefixtures("careful")
async def test_v8_a_release_takes_two_of_finance(service: Service, api: Client, tmp_path: Path) -> None:
    ada, bo = await operator(service, "finance", name="Ada"), await operator(service, "finance", name="Bo")
    hers, his = in_process(service, tmp_path, ada), in_process(service, tmp_path, bo)
    nonprofit = await factories.nonprofit(service)
    await verified(service, api, nonprofit)
    made = await settled(service, api, nonprofit)
    assert (await hers("disbursements", "hold", nonprofit, "--note", "a list of sanctions"))[0] == 0
    release = ("disbursements", "release", nonprofit, "--note", "another of the same name")
    assert "Confirmed by Ada (1 of 2). A second operator with the role finance" in (await hers(*release))[1]
    assert (await hers("disbursements", "hold", nonprofit, "--note", "and another"))[0] == 0
    assert "Confirmed by Bo (1 of 2)" in (await his(*release))[1], "what Ada saw has changed"
    assert await hers(*release) == (0, f"Disbursements to {nonprofit} are released.\n")
    assert (await hers("disbursements", "run"))[0] == 0
    assert (await gift(api, made))["status"] == "DISBURSED"


async def test_two_people_is_a_rule_of_the_database(service: Service, api: Client, tmp_path: Path) -> None:
    ada, bo = await operator(service, "administrator", name="Ada"), await operator(service, "reviewer", name="Bo")
    hers, his = in_process(service, tmp_path, ada), in_process(service, tmp_path, bo)
    one, two = (
        f"Number of operators required to approve a verification or to release disbursements: {many}.\n"
        for many in (1, 2)
    )
    assert await in_process(service, tmp_path)("operators", "two-person-approval") == (0, one)
    assert (await his("operators", "two-person-approval", "on"))[0] == 1
    assert await hers("operators", "two-person-approval", "on") == (0, two)
    made = await factories.verification(service, api)
    approve = ("verifications", "approve", made["id"], "--note", "a letter")
    assert "Confirmed by Bo (1 of 2)" in (await his(*approve))[1]
    assert await hers("operators", "two-person-approval", "off") == (0, one)
    assert await his(*approve) == (0, f"{made['id']} is approved.\n")
    async with service.db.read() as tx:
        rows = await tx.fetch(
            "select details from audit_entry where action = 'verification.approved' order by position"
        )
    assert [row["details"] for row in rows] == [{"people": 1}]
    assert await audited(service) == [
        *[("machine", "operator.invited"), ("machine", "operator_token.created")] * 2,
        *[("operator", "two_person_approval.changed")] * 2,
    ]


async def test_an_import_is_an_administrators(service: Service, tmp_path: Path) -> None:
    nobody = in_process(service, tmp_path)
    ada, bo = await operator(service, "administrator", name="Ada"), await operator(service, "finance", name="Bo")
    hers, his = in_process(service, tmp_path, ada), in_process(service, tmp_path, bo)
    load = ("registers", "import", "irs-bmf", str(next(SAMPLE.glob("*wy*.csv.gz"))), "--as-of", "2026-04-13")
    assert (await nobody(*load))[1].startswith(NO_TOKEN)
    assert "lacks the role administrator" in (await his(*load))[1]
    assert ("machine", "register.imported") not in await audited(service)
    status, reported = await hers(*load)
    assert (status, reported.startswith("Loaded ")) == (0, True), reported
    assert (await audited(service))[-1] == ("operator", "register.imported")
    assert "already imported" in (await hers(*load))[1]
    assert [action for _, action in await audited(service)].count("register.imported") == 1
