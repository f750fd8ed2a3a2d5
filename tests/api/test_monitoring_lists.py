"""Monitoring over real lists: what they say is shown once a person confirmed it, and each change is told once."""

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
from asyncpg.exceptions import CheckViolationError

from almoner.kit.time import iso_timestamp
from almoner.platform.database.transactions import ALL_PARTNERS
from almoner.platform.observability import selfcheck
from almoner.screening.watchlists.domain import CATEGORIES
from almoner.validation.decisions.reviews import service as reviews
from almoner.validation.decisions.reviews.domain import ReviewDecision, ReviewFilters, Verdict
from almoner.validation.ongoing.matches import service as matches
from almoner.validation.ongoing.monitoring import checks as monitoring_checks
from almoner.validation.ongoing.monitoring import service as monitoring
from tests.support import factories
from tests.support.client import Client, data
from tests.support.monitoring import PATH, cancelled, looked, shown, statuses, subscribe, told
from tests.support.service import Service, Tenant
from tests.support.watchlists import Lists, listing

AQSA = "AL-MASJED AL-AQSA CHARITY FOUNDATION"
SAME = ReviewDecision("accepted", None, "operator_1", "The passport says so")
OTHER = ReviewDecision("rejected", "not_the_same", "operator_1", "Another town, another board")
UNSEEN: dict[str, str | None] = dict.fromkeys(CATEGORIES)


@pytest.fixture
async def owner(alone: Service) -> Tenant:
    return await alone.tenant()


@pytest.fixture
async def api(alone: Service, owner: Tenant) -> AsyncIterator[Client]:
    client = alone.client(owner.secret)
    yield client
    await client.close()


@pytest.fixture
def lists(alone: Service, tmp_path: Path) -> Lists:
    return Lists(alone.db, tmp_path)


async def monitored(service: Service, api: Client, name: str = AQSA) -> dict[str, Any]:
    """A subscription to a new organisation of this name, looked at."""
    return await looked(service, api, organisationId=await factories.nonprofit(service, name=name))


async def decide(service: Service, decision: ReviewDecision, code: str = "ofac-sdn") -> None:
    """Decide the open match with a list."""
    async with service.db.write() as tx:
        match = await tx.fetchval(
            "select id from screening_match where decision = 'open' and current and list = $1", code
        )
        await matches.decide_match(tx, ALL_PARTNERS, match, decision)
    await service.drain()


def sources(record: dict[str, Any]) -> list[tuple[str, str, str]]:
    """The lists that the record names."""
    return [(one["list"], one["version"], one["category"]) for one in record["sources"]]


async def test_silence_means_that_a_list_was_looked_into(alone: Service, api: Client, lists: Lists) -> None:
    unknown = await monitored(alone, api, "Casper Relief Fund")
    assert statuses(unknown) == UNSEEN
    load = await lists.load(listing(1, AQSA))
    clear = (await told(alone, api))[-1]
    assert clear == await shown(api, unknown)
    assert statuses(clear) == {**UNSEEN, "sanction": "clear"}
    assert clear["results"]["complianceStatus"] == "pass"
    assert sources(clear) == [("ofac-sdn", load.version_label, "sanction")]
    await lists.load(listing(2, "ZAVOD IMENI DEGTYAREVA"), code="own-warnings", category="warning")
    warned = (await told(alone, api))[-1]
    assert statuses(warned) == {**UNSEEN, "sanction": "clear", "warning": "clear"}
    assert len(await told(alone, api)) == 3
    assert statuses(await monitored(alone, api, "Wind River Library")) == statuses(warned)


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("የኢትዮጵያ ቀይ መስቀል", "script_uncertain"),
        ("អង្គការ ជំនួយ", "script_not_supported"),
        ("Relief བོད་ཀྱི Fund", "script_not_supported"),
        ("❤ ❤ ❤", "no_words"),
    ],
)
async def test_settled_11_what_cannot_be_compared_is_not_clear(
    alone: Service, api: Client, lists: Lists, name: str, reason: str
) -> None:
    await lists.load(listing(1, AQSA))
    unscreened = await monitored(alone, api, name)
    assert statuses(unscreened) == UNSEEN
    assert unscreened["results"]["complianceStatus"] is None
    assert [(one["status"], one["reason"]) for one in unscreened["sources"]] == [("not_screened", reason)]
    alone.clock.advance(minutes=1)
    load = await lists.load(listing(1, AQSA), listing(2, "ZAVOD IMENI DEGTYAREVA"))
    await alone.drain()
    now = await shown(api, unscreened)
    assert sources(now) == [("ofac-sdn", load.version_label, "sanction")]
    assert now["sources"][0]["status"] == "not_screened"


async def unscreened_subject(service: Service) -> UUID:
    """The record that waits for a person since it cannot be compared."""
    async with service.db.read() as tx:
        (open_review,) = await reviews.list_open_reviews(tx, ReviewFilters(kind="screening"), 10)
    return open_review.subject.id


@pytest.mark.parametrize(
    ("verdict", "category", "compliance"), [("accepted", None, "pass"), ("rejected", "sanction", "fail")]
)
async def test_settled_11_a_person_looks_up_what_cannot_be_compared(
    alone: Service, api: Client, lists: Lists, verdict: Verdict, category: str | None, compliance: str
) -> None:
    await lists.load(listing(1, AQSA))
    unscreened = await monitored(alone, api, "អង្គការ ជំនួយ")
    subject = await unscreened_subject(alone)
    async with alone.db.write() as tx:
        await matches.record_manual_screening_result(
            tx, ALL_PARTNERS, subject, ReviewDecision(verdict, category, "operator_1", "UN")
        )
    await alone.drain()
    now = await shown(api, unscreened)
    assert now["results"]["complianceStatus"] == compliance
    assert statuses(now) == {**UNSEEN, **({category: "flag"} if category else {})}  # and nothing is clear
    assert now["sources"][0]["status"] == "not_screened"
    async with alone.db.write() as tx:
        await matches.reopen_manual_screening_result(tx, subject, "operator_1", "The other one")
    await alone.drain()
    assert (await shown(api, unscreened))["results"]["complianceStatus"] is None
    assert await unscreened_subject(alone) == subject


async def test_what_no_configuration_asks_for_waits_for_nobody(alone: Service, api: Client, lists: Lists) -> None:
    await lists.load(listing(2, "ZAVOD IMENI DEGTYAREVA"), code="own-media", category="adverseMedia")
    unscreened = await monitored(alone, api, "អង្គការ ជំនួយ")
    assert unscreened["results"]["complianceStatus"] == "pass"
    async with alone.db.read() as tx:
        assert not await reviews.list_open_reviews(tx, ReviewFilters(), 10)


async def test_what_is_renamed_into_letters_that_are_read_is_compared(
    alone: Service, api: Client, lists: Lists
) -> None:
    await lists.load(listing(1, AQSA))
    unscreened = await monitored(alone, api, "የኢትዮጵያ ቀይ መስቀል")
    async with alone.db.write() as tx:
        await tx.execute(
            "update organisation set name = 'Ye Itiopia Key Mesqel' where id = $1",
            tx.ids.decode("organisation", unscreened["organisationId"]),
        )
        await monitoring.evaluate_after_organisation_changes(
            tx, [await tx.fetchval("select organisation_id from monitoring_subscription")], "register_changed"
        )
    await alone.drain()
    assert statuses(await shown(api, unscreened)) == {**UNSEEN, "sanction": "clear"}
    async with alone.db.read() as tx:
        assert not await reviews.list_open_reviews(tx, ReviewFilters(), 10)


async def test_settled_11_the_database_keeps_nobody_clear_who_was_not_compared(
    alone: Service, api: Client, lists: Lists
) -> None:
    await lists.load(listing(1, AQSA))
    await monitored(alone, api, "የኢትዮጵያ ቀይ መስቀል")
    with pytest.raises(CheckViolationError, match="monitoring_subscription_sanction_checked"):
        async with alone.db.write() as tx:
            await tx.execute("update monitoring_subscription set sanction = 'clear'")


async def test_a_list_of_warnings_alone_is_found_to_check_no_sanctions(
    alone: Service, api: Client, lists: Lists
) -> None:
    await lists.load(listing(2, "ZAVOD IMENI DEGTYAREVA"), code="own-warnings", category="warning")
    await monitored(alone, api, "Casper Relief Fund")
    async with alone.db.write() as tx:
        await tx.execute("update monitoring_subscription set screened_at = screened_at - interval '2 days'")
    assert await passes_unseen(alone) == ["no list of sanction is loaded"]
    await lists.load(listing(1, AQSA))
    await alone.drain()
    async with alone.db.write() as tx:
        await tx.execute("update monitoring_subscription set screened_at = screened_at - interval '2 days'")
    assert await passes_unseen(alone) == []


async def passes_unseen(service: Service) -> list[str]:
    """What the self-check finds of subscriptions that nothing was looked into for."""
    outcome = await selfcheck.run_selfcheck(service.db, monitoring_checks.checks)
    return [
        one
        for finding in outcome.findings
        if finding.check.name == "monitoring.lists_are_loaded"
        for one in finding.examples
    ]


async def test_a_possible_match_is_not_known_until_a_person_decided(alone: Service, api: Client, lists: Lists) -> None:
    load = await lists.load(listing(1, AQSA))
    waiting = await monitored(alone, api)
    assert statuses(waiting) == UNSEEN
    assert waiting["results"]["complianceStatus"] is None
    [open_] = waiting["matches"]
    assert (open_["entry"], open_["category"], open_["decision"]) == ("1", "sanction", "open")
    await decide(alone, SAME)
    flagged = await shown(api, waiting)
    assert statuses(flagged) == {**UNSEEN, "sanction": "flag"}
    assert flagged["results"]["complianceStatus"] == "fail"
    assert await told(alone, api) == [flagged]
    answer = await api.get(f"{PATH}/{flagged['id']}/history")
    assert (answer.json()["object"], answer.json()["totalResults"]) == ("monitoring_change", 1)
    [change] = data(answer)
    [match] = change.pop("matches")
    assert flagged["matches"] == [match]
    assert change == {
        "at": iso_timestamp(alone.clock.now()),
        "occasion": "screening_changed",
        "results": flagged["results"],
        "complianceFlags": ["hateSpeech", "sanction", "warning"],
        "sources": flagged["sources"],
    }
    assert match.pop("score") > 0.7
    assert match == {
        "list": "ofac-sdn",
        "version": load.version_label,
        "category": "sanction",
        "entry": "1",
        "decision": "confirmed",
    }


async def test_a_match_that_was_cleared_is_clear(alone: Service, api: Client, lists: Lists) -> None:
    await lists.load(listing(1, AQSA))
    waiting = await monitored(alone, api)
    await decide(alone, OTHER)
    clear = await shown(api, waiting)
    assert statuses(clear) == {**UNSEEN, "sanction": "clear"}
    assert await told(alone, api) == [clear]
    await lists.load(listing(1, AQSA, programme="SDGT] [FTO"))
    assert await told(alone, api) == [clear]


async def test_a_flag_that_does_not_count_lets_compliance_pass(alone: Service, api: Client, lists: Lists) -> None:
    await lists.load(listing(1, AQSA), code="own-media", category="adverseMedia")
    waiting = await monitored(alone, api)
    assert (statuses(waiting), waiting["results"]["complianceStatus"]) == (UNSEEN, "pass")
    await decide(alone, SAME, "own-media")
    flagged = await shown(api, waiting)
    assert statuses(flagged) == {**UNSEEN, "adverseMedia": "flag"}
    assert flagged["results"]["complianceStatus"] == "pass"


async def test_an_update_tells_whom_it_concerns_and_names_its_version(
    alone: Service, api: Client, lists: Lists
) -> None:
    await lists.load(listing(2, "ZAVOD IMENI DEGTYAREVA"))
    named, other = await monitored(alone, api), await monitored(alone, api, "Casper Relief Fund")
    assert statuses(named) == statuses(other) == {**UNSEEN, "sanction": "clear"}
    events = await told(alone, api)
    alone.clock.advance(minutes=1)
    load = await lists.load(listing(2, "ZAVOD IMENI DEGTYAREVA"), listing(1, AQSA))
    after = (await told(alone, api))[len(events) :]
    assert [record["id"] for record in after] == [named["id"]]
    assert statuses(await shown(api, named)) == UNSEEN
    for record in (named, other):
        assert sources(await shown(api, record)) == [("ofac-sdn", load.version_label, "sanction")]
    stopped = await cancelled(api, other)
    alone.clock.advance(minutes=1)
    await lists.load(listing(2, "ZAVOD IMENI DEGTYAREVA"))
    assert statuses((await told(alone, api))[-1]) == {**UNSEEN, "sanction": "clear"}
    assert await shown(api, other) == stopped
    assert sources(stopped) == [("ofac-sdn", load.version_label, "sanction")]


async def test_what_the_register_says_anew_is_told_to_whoever_monitors(alone: Service, api: Client) -> None:
    organisation = await factories.nonprofit(alone)
    live = await looked(alone, api, organisationId=organisation)
    found = alone.db.deployment.ids.decode("organisation", organisation)
    assert found is not None
    async with alone.db.write() as tx:
        assert set(await monitoring.load_subscribed_partner_ids_by_organisation(tx, [found])) == {found}
        await tx.execute("update organisation set active = false where id = $1", found)
        await monitoring.evaluate_after_organisation_changes(tx, [found], "register_changed")
    changed = (await told(alone, api))[-1]
    assert changed == await shown(api, live)
    assert changed["results"] == {**live["results"], "registration": {"active": "no"}}
    await cancelled(api, live)
    async with alone.db.read() as tx:
        assert await monitoring.load_subscribed_partner_ids_by_organisation(tx, [found]) == {}


async def test_who_was_renamed_to_a_listed_name_is_looked_at_again(alone: Service, api: Client, lists: Lists) -> None:
    await lists.load(listing(1, AQSA))
    organisation = await factories.nonprofit(alone, name="Casper Relief Fund")
    live = await looked(alone, api, organisationId=organisation)
    found = alone.db.deployment.ids.decode("organisation", organisation)
    assert found is not None
    async with alone.db.write() as tx:
        await tx.execute("update organisation set name = $2 where id = $1", found, AQSA)
        await monitoring.evaluate_after_organisation_changes(tx, [found], "register_changed")
    renamed = (await told(alone, api))[-1]
    assert (renamed["id"], renamed["organisation"], statuses(renamed)) == (live["id"], {"name": AQSA}, UNSEEN)


async def test_the_organisation_is_watched_as_long_as_somebody_monitors_it(
    alone: Service, api: Client, lists: Lists
) -> None:
    other = alone.client((await alone.tenant()).secret)
    organisation = await factories.nonprofit(alone, name=AQSA)
    ours = await looked(alone, api, organisationId=organisation)
    theirs = await looked(alone, other, organisationId=organisation)

    async def watched() -> bool:
        async with alone.db.read() as tx:
            return bool(await tx.fetchval("select monitored from screening_subject"))

    assert await watched()
    await cancelled(api, ours)
    assert await watched()
    await lists.load(listing(1, AQSA))
    assert [record["id"] for record in await told(alone, other)][-1] == theirs["id"]
    assert statuses(await shown(other, theirs)) == UNSEEN
    await decide(alone, SAME)
    assert statuses(await shown(other, theirs))["sanction"] == "flag"
    assert statuses(await shown(api, ours)) == UNSEEN
    await cancelled(other, theirs)
    assert not await watched()
    await other.close()


async def test_what_the_sandbox_says_asks_no_list(alone: Service, api: Client, lists: Lists) -> None:
    await lists.load(listing(1, AQSA))
    organisation = await factories.nonprofit(alone, name=AQSA)
    stated = await looked(alone, api, "-complianceStatus:pass", organisationId=organisation)
    assert (statuses(stated), stated["sources"]) == (dict.fromkeys(CATEGORIES, "clear"), [])
    async with alone.db.read() as tx:
        assert await tx.fetchval("select count(*) from screening_match") == 0
    made = await subscribe(alone, api, organisationId=organisation)
    await alone.drain()
    assert statuses(await shown(api, made)) == UNSEEN


async def test_nobody_is_asked_about_whom_nobody_monitors(alone: Service, api: Client, lists: Lists) -> None:
    await lists.load(listing(1, AQSA))
    organisation = await factories.nonprofit(alone, name=AQSA)
    first = await looked(alone, api, organisationId=organisation)
    second = await looked(alone, api, organisationId=organisation)

    async def asked() -> list[str]:
        async with alone.db.read() as tx:
            return [row["status"] for row in await tx.fetch("select status from review order by id")]

    assert await asked() == ["open"]
    await cancelled(api, first)
    assert await asked() == ["open"]
    await cancelled(api, second)
    assert await asked() == ["withdrawn"]
    again = await looked(alone, api, organisationId=organisation)
    assert (statuses(again), again["results"]["complianceStatus"]) == (UNSEEN, None)
    assert await asked() == ["withdrawn", "open"]
    await decide(alone, SAME)
    await cancelled(api, again)
    assert statuses(await looked(alone, api, organisationId=organisation))["sanction"] == "flag", (
        "what was decided stays"
    )
