"""`almoner verifications` as an officer types it, over the database of a service (settled 5)."""

from datetime import timedelta
from functools import partial
from pathlib import Path

import pytest

from tests.support import bank, factories
from tests.support.agents import contact, mail_to
from tests.support.client import Client, data
from tests.support.service import Service
from tests.support.terminal import Operator, Type, in_process, operator

PATH = "/v1/monetary-donation-verifications"


@pytest.fixture
async def olive(service: Service) -> Operator:
    """A reviewer."""
    return await operator(service, "reviewer", name="Olive Officer")


@pytest.fixture
def officer(service: Service, tmp_path: Path, olive: Operator) -> Type:
    """Types commands of `almoner verifications`; answers (status, what was printed)."""
    return partial(in_process(service, tmp_path, olive), "verifications")


async def test_an_officer_decides_and_the_evidence_is_kept(
    service: Service, api: Client, officer: Type, olive: Operator
) -> None:
    made = await factories.verification(service, api, organisation=await factories.nonprofit(service, name="Relief"))
    status, printed = await officer("list")
    assert (status, len(printed.splitlines())) == (0, 2)
    assert made["id"] in printed
    assert "Relief" in printed
    reported = [
        await officer("approve", made["id"], "--note", "Voided cheque of 3 March, case 7"),
        await officer("list"),
    ]
    assert reported[0] == (0, f"{made['id']} is approved.\n")
    assert made["id"] not in reported[1][1]
    assert data(await api.get(f"{PATH}/{made['id']}"))["status"]["type"] == "approved"
    status, printed = await officer("show", made["id"])
    assert status == 0
    for fact in (
        "check bank_details",
        "succeeded",
        "Voided cheque of 3 March, case 7",
        f"Olive Officer ({olive.id})",
    ):
        assert fact in printed
    assert "somebody else" not in printed


async def test_a_rejected_one_is_reopened_at_the_terminal(service: Service, api: Client, officer: Type) -> None:
    made = await factories.verification(service, api)
    wrong = await officer("reject", made["id"], "--reason", "mood", "--note", "x")
    assert wrong[0] == 2
    reason = ("--reason", "no_response", "--note", "Three letters, no answer")
    assert await officer("reject", made["id"], *reason) == (0, f"{made['id']} is rejected.\n")
    assert data(await api.get(f"{PATH}/{made['id']}"))["rejectionReasonCode"] == "no_response"
    assert await officer("reopen", made["id"], "--note", "They called") == (0, f"{made['id']} is pending.\n")
    await service.drain()
    events = data(await api.get("/v1/events", direction="ASC"))
    assert [event["eventData"]["status"]["type"] for event in events] == ["pending", "rejected", "pending", "pending"]


async def test_what_an_officer_may_not_do_is_told_in_one_line(service: Service, api: Client, officer: Type) -> None:
    unlisted = await factories.verification(service, api, organisation=await factories.nonprofit(service, active=False))
    status, printed = await officer("approve", unlisted["id"], "--note", "They asked nicely")
    assert status == 1
    assert printed == (
        "the check registration is failed: only an organisation that its register lists as active can be approved\n"
    )
    assert data(await api.get(f"{PATH}/{unlisted['id']}")) == unlisted
    status, printed = await officer("reopen", unlisted["id"], "--note", "again")
    assert (status, printed) == (1, "the verification is pending and cannot become pending\n")
    for words in (
        ("show", "nothing"),
        ("show", service.db.deployment.ids.example_id("monetarydonationverification")),
        ("approve", unlisted["id"], "--note", " "),
        ("approve", unlisted["id"]),
    ):
        assert (await officer(*words))[0] == 2, words


async def test_commands_live_in_the_time_of_the_sandbox(service: Service, api: Client, officer: Type) -> None:
    made = await factories.verification(service, api)
    data(await api.post("/v1/sandbox/clock", {"advanceSeconds": int(timedelta(days=31).total_seconds())}))
    status, printed = await officer("approve", made["id"], "--note", "late")
    assert (status, printed) == (1, "the verification is expired and cannot become approved\n")
    assert made["id"] in (await officer("list", "--status", "expired"))[1]


async def test_what_is_missing_is_asked_for_and_what_is_flagged_takes_two(
    service: Service, api: Client, officer: Type, tmp_path: Path
) -> None:
    made = await factories.verification(
        service, api, organisation=await factories.nonprofit(service, name="Hill Road Relief", country="DEU")
    )
    await service.drain()
    status, refused = await officer("request-confirmation", made["id"])
    assert (status, f"almoner agents set-contact {made['organisationId']}" in refused) == (1, True)
    await contact(service, made["organisationId"], "info@hill.example")
    assert (await officer("request-confirmation", made["id"], "--language", "xx"))[0] == 2
    status, printed = await officer("request-confirmation", made["id"])
    assert (status, printed.startswith("Emailed info@hill.example in de. The link expires at ")) == (0, True)
    service.clock.advance(minutes=10)  # the commands live a little later
    assert "Spenden für Hill Road Relief" in (await mail_to(service, api, "info@hill.example"))["subject"]
    await bank.account(service, made["organisationId"], holder="Any name")
    _, shown = await officer("show", made["id"])
    for fact in (
        "watchlist screening; confirmation by the nonprofit",
        "no_list_loaded",
        "nameAgrees",
        "info@hill.example",
        "none yet",
        "the account holder's name differs from the name in the register",
    ):
        assert fact in shown
    _, listed = await officer("flags")
    assert "0 of 2" in listed
    flag = next(word for word in listed.split() if "verificationflag_" in word)
    assert await officer("clear-flag", flag, "--note", "a fiscal sponsor") == (
        0,
        f"{flag} is still open (1 of 2: a second reviewer must also clear the flag).\n",
    )
    status, again = await officer("clear-flag", flag, "--note", "once more")
    assert (status, "somebody else has to look as well" in again) == (1, True)
    other = partial(in_process(service, tmp_path, await operator(service, "reviewer", name="Bo")), "verifications")
    assert await other("clear-flag", flag, "--note", "their contract") == (0, f"{flag} has been cleared.\n")
    assert len((await officer("flags"))[1].splitlines()) == 1
    _, shown = await officer("show", made["id"])
    for fact in ("a fiscal sponsor", "their contract", "Bo (", "lifted"):
        assert fact in shown
    assert (await officer("clear-flag", "flag_x", "--note", "x"))[0] != 0
    wrong = await officer("clear-flag", service.db.deployment.ids.example_id("verificationflag"), "--note", "x")
    assert (wrong[0], "there is no flag" in wrong[1]) == (2, True)
