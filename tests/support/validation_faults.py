"""Validations in all states, and corruptions of their records that bypass the service."""

from collections.abc import Iterator
from dataclasses import dataclass

from almoner.review_cases import REVIEW_HANDLERS
from almoner.validation.decisions.reviews import service as reviews
from almoner.validation.decisions.reviews.domain import ReviewDecision, Verdict
from tests.support import agents, eligibility, monitoring
from tests.support.client import Client, data
from tests.support.service import Service

OLD = "timestamptz '2020-01-01 00:00Z'"


@dataclass(frozen=True, slots=True)
class Fault:
    """A corruption of the database that bypasses the service, and the check that must report it."""

    check: str
    sql: str


async def lived(service: Service, api: Client) -> None:
    """Create records in every state."""
    await validations(service, api)
    await eligibilities(service, api)
    await monitored(service, api)


async def validations(service: Service, api: Client) -> None:
    """Create requests that were accepted and rejected by a reviewer, and one that waits."""
    asked = {"name": "Relief", "registryName": "IRS", "website": "https://example.org", "countryCode": "USA"}
    verdicts: dict[str, Verdict | None] = {"53-0196605": "accepted", "13-1623829": "rejected", "13-5562309": None}
    for number, verdict in verdicts.items():
        made = data(await api.post("/v1/validation-requests", {**asked, "registryId": number}))
        await service.drain()
        request_id = service.db.deployment.ids.decode("validationrequest", made["id"])
        assert request_id is not None
        async with service.db.write() as tx:
            case, by = REVIEW_HANDLERS["validation_request"], "operator"
            await reviews.claim_for_review(tx, case, request_id, by)
            if verdict is not None:
                reason = "other" if verdict == "rejected" else None
                await reviews.decide_review(tx, case, request_id, ReviewDecision(verdict, reason, by, "Seen"))
    for action in ("approve", "reject", "confirm_email"):
        made = await agents.create(service, api, email="ada@somewhere-else.example")
        await agents.simulate(api, made, "confirm_email")
        await service.drain()
        if action != "confirm_email":
            await agents.simulate(api, made, action)


async def eligibilities(service: Service, api: Client) -> None:
    """Create eligibility subscriptions: live, undefined, failed, waiting for their request, cancelled, re-evaluated."""
    dogs = await eligibility.body_of(service, {"AN102": "ntee:D20"})
    made = await eligibility.evaluated(service, api, dogs)
    await eligibility.cancel(api, made)
    await eligibility.evaluated(service, api, dogs)
    await eligibility.evaluated(service, api, await eligibility.body_of(service, name="Casper"))
    for name, number in (("test_reject_other", "13-1644147"), ("Somebody", "13-1788491")):
        asked = {"name": name, "registryName": "IRS", "website": "https://example.org", "countryCode": "USA"}
        request = data(await api.post("/v1/validation-requests", {**asked, "registryId": number}))
        await eligibility.evaluated(service, api, "", organisationId=None, validationRequestId=request["id"])


async def monitored(service: Service, api: Client) -> None:
    """Create monitoring subscriptions: live with and without flags, waiting, failed, cancelled, re-evaluated."""
    live = await monitoring.looked(service, api)
    await monitoring.set_results(api, live, sanction={"status": "flag"})
    await monitoring.looked(service, api, "-complianceStatus:fail")
    await monitoring.cancelled(api, await monitoring.looked(service, api, "-complianceStatus:pass"))
    for name, number in (("test_reject_other", "13-1644147"), ("Somebody", "13-1788491")):
        asked = {"name": name, "registryName": "IRS", "website": "https://example.org", "countryCode": "USA"}
        request = data(await api.post("/v1/validation-requests", {**asked, "registryId": number}))
        await monitoring.looked(service, api, validationRequestId=request["id"])
    await monitoring.looked(service, api)


def of_validation() -> Iterator[Fault]:
    """Corruptions of all validation records."""
    yield from of_requests()
    yield from of_eligibility()
    yield from of_monitoring()
    yield from of_watchlists()
    yield Fault(
        "validation_invites.expired_are_recorded",
        f"""
        insert into validation_invite (id, partner_id, language, status, created_at, expires_at, status_changed_at)
        select gen_random_uuid(), id, 'en', 'open', {OLD} - interval '7 days', {OLD}, {OLD} from partner limit 1
        """,
    )
    yield Fault(
        "agent_verifications.expired_are_recorded",
        f"update agent_verification set expires_at = {OLD} where status = 'pending_review'",
    )
    yield Fault(
        "agent_verifications.undecided_have_reviews",
        f"update agent_verification set status_changed_at = {OLD}; delete from review where status = 'open'",
    )


def of_watchlists() -> Iterator[Fault]:
    """Corruptions of watchlists and their matches."""
    loaded = """
        insert into watchlist (code, title, licence, unverified) values ('a-list', 'A list', 'ours', false);
        insert into watchlist_load (
            id, list, status, retrieved_at, loaded_at, sha256, files, categories, entries, added, removed, changed,
            rejected, forced, reasons, organisation_categories, person_categories, fetched_from
        ) select id, 'a-list', '{}', created_at, created_at, decode(repeat('00', 32), 'hex'), '[]', '{{}}', 1, 0, 0, 0,
            0, false, '{}', '{{}}', '{{}}', '{{}}' from partner limit 1;
    """
    yield Fault("watchlists.imports_succeed", loaded.format("refused", "{short}"))
    good = loaded.format("loaded", "{}")
    yield Fault(
        "watchlists.entry_counts_match",
        f"{good} update watchlist set current_load_id = (select id from watchlist_load)",
    )
    yield Fault(
        "watchlists.current",
        f"{good} update watchlist set current_load_id = (select id from watchlist_load);"
        " update watchlist_load set published_at = retrieved_at - interval '2 years'",
    )
    current = "update watchlist set current_load_id = (select id from watchlist_load)"
    yield Fault(
        "monitoring.screened_against_current_lists", f"{good} {current}; update watchlist_load set loaded_at = {OLD}"
    )
    yield Fault(
        "matches.open_have_reviews",
        f"""
        {good}
        insert into screening_subject (
            id, type, subject_id, partner_id, kind, names, countries, identifiers, monitored, screened_at,
            engine_version
        ) select id, 'organisation', id, id, 'organisation', '{{Relief}}', '{{}}', '{{}}', true, created_at, 0
        from partner limit 1;
        insert into screening_match (
            id, screening_subject_id, list, entry_key, category, load_id, score, parts, subject_side, entry_side,
            decision, awaiting_review, current, found_at, changed_at
        ) select id, id, 'a-list', '1', 'sanction', (select id from watchlist_load), 1, '[]', '{{}}', '{{}}', 'open',
            true, true, {OLD}, {OLD}
        from screening_subject where type = 'organisation' limit 1
        """,
    )
    yield Fault(
        "matches.unscreened_have_reviews",
        """
        with m as (
            update monitoring_subscription
            set compliance_status = null, sources = '[{"category": "sanction", "status": "not_screened"}]'
            where status = 'live' and simulated_results is null returning partner_id, organisation_id
        )
        insert into screening_subject (
            id, type, subject_id, partner_id, kind, names, countries, identifiers, monitored, screened_at,
            engine_version, obstacle
        ) select distinct on (organisation_id) gen_random_uuid(), 'organisation', organisation_id, partner_id,
            'organisation', '{Relief}'::text[], '{}'::text[], '{}'::text[], true, now(), 0, 'no_words' from m
        on conflict (type, subject_id) do update set obstacle = 'no_words'
        """,
    )


def of_requests() -> Iterator[Fault]:
    """Corruptions of validation requests."""
    yield Fault(
        "validation_requests.evaluated_on_time",
        f"update validation_request set created_at = {OLD}; delete from evidence where kind = 'validation_request'",
    )
    yield Fault("validation_requests.undecided_have_reviews", "delete from review where status = 'open'")
    yield Fault(
        "validation_requests.organisations_are_visible",
        "update organisation set partner_id = gen_random_uuid() where partner_id is not null",
    )
    for reported in (
        "delete from event where type = 'validation_request.approved'",
        "update validation_request set rejected_at = rejected_at - interval '1 s' where status = 'rejected'",
        "update event set type = 'validation_request.approved' where type = 'validation_request.rejected'",
    ):
        yield Fault("validation_requests.decisions_reported_once", reported)


def of_eligibility() -> Iterator[Fault]:
    """Corruptions of eligibility subscriptions."""
    live = "(select id from eligibility_subscription where status = 'live' limit 1)"
    yield Fault(
        "eligibility.evaluated_on_time",
        f"""
        update eligibility_subscription
        set status = 'pending', eligibility_status = null, confirmed = '{{}}', status_changed_at = {OLD}
        where id = {live}
        """,
    )
    yield Fault(
        "eligibility.evaluated_on_time",
        f"""
        update validation_request set rejected_at = {OLD} where status = 'rejected';
        update eligibility_subscription set status = 'pending_validation_request', created_at = {OLD}
        where status = 'validation_request_failed'
        """,
    )
    for changed in (
        "delete from evidence where kind = 'eligibility_subscription'",
        "update evidence set steps = '[]' where kind = 'eligibility_subscription'",
        "update evidence set steps = jsonb_set(steps, '{0,code}', '\"x\"') where kind = 'eligibility_subscription'",
        f"update eligibility_subscription set eligibility_status = 'fail' where id = {live}",
        f"update eligibility_subscription set rejected = '{{AN102}}' where id = {live}",
    ):
        yield Fault("eligibility.results_have_evidence", changed)
    yield Fault(
        "eligibility.configurations_are_current",
        f"update hosted_configuration set allowed_activity_sub_tags = '{{AN101}}', updated_at = {OLD}",
    )
    yield Fault(
        "eligibility.register_data_is_current",
        f"""update organisation set activities = '{{"AN101": "ntee:D21"}}', updated_at = {OLD}""",
    )


def of_monitoring() -> Iterator[Fault]:
    """Corruptions of monitoring subscriptions."""
    live = "(select id from monitoring_subscription where status = 'live' and simulated_results is null limit 1)"
    yield Fault(
        "monitoring.evaluated_on_time",
        f"update monitoring_subscription set status = 'pending', status_changed_at = {OLD} where id = {live}",
    )
    yield Fault(
        "monitoring.evaluated_on_time",
        f"""
        update monitoring_subscription set status = 'pending_validation_request', created_at = {OLD}
        where status = 'validation_request_failed';
        update validation_request set status_changed_at = {OLD}
        """,
    )
    yield Fault("monitoring.evaluated_on_time", f"update monitoring_subscription set due_at = {OLD} where id = {live}")
    looked = f"update monitoring_subscription set screened_at = {OLD} where id = {live};"
    yield Fault(
        "monitoring.organisations_are_screened",
        f"{looked} update organisation set updated_at = {OLD}; update screening_subject set monitored = false",
    )
    yield Fault("monitoring.lists_are_loaded", looked)
    for changed in (
        "delete from evidence where kind = 'monitoring_subscription'",
        f"update monitoring_subscription set warning = 'flag' where id = {live}",
        f"update monitoring_subscription set compliance_status = null where id = {live}",
        "update evidence set facts = jsonb_set(facts, '{results,sanction}', '\"clear\"')",
    ):
        yield Fault("monitoring.results_match_last_change", changed)
    for told_ in (
        "delete from event where type = 'monitoring_subscription.updated'",
        "update evidence set recorded_at = recorded_at - interval '1 s'",
    ):
        yield Fault("monitoring.changes_reported_once", told_)
    yield Fault(
        "monitoring.confirmed_matches_are_flagged",
        f"""
        insert into screening_subject (id, type, subject_id, partner_id, kind, names, countries, identifiers,
                                       monitored, screened_at, engine_version)
        select gen_random_uuid(), 'organisation', organisation_id, partner_id, 'organisation', '{{x}}', '{{}}', '{{}}',
               true, {OLD}, 0
        from monitoring_subscription where id = {live}
        on conflict (type, subject_id) do nothing;
        insert into screening_match (
            id, screening_subject_id, list, entry_key, category, load_id, score, parts, subject_side, entry_side,
            decision, awaiting_review, current, last_decision, found_at, changed_at
        )
        select gen_random_uuid(), s.id, 'x', '1', 'sanction', gen_random_uuid(), 1, '[]', '{{}}', '{{}}', 'confirmed',
               false, true, 'confirmed', {OLD}, {OLD}
        from screening_subject s join monitoring_subscription m on m.organisation_id = s.subject_id where m.id = {live}
        """,
    )
