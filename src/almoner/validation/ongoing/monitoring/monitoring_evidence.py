"""Collects evidence for a subscription: its request, its organisation's register, and the watchlists."""

from collections.abc import Collection, Sequence
from dataclasses import replace

from almoner.nonprofits.organisations import service as organisations
from almoner.nonprofits.organisations.domain import Organisation
from almoner.platform.database.transactions import Partner, Tx
from almoner.screening.screenings.domain import ScreenedSubject, ScreeningResult
from almoner.screening.screenings.service import Screener
from almoner.screening.watchlists.domain import CATEGORIES, Category
from almoner.validation.applications.configurations import service as configurations
from almoner.validation.ongoing.matches import service as matches
from almoner.validation.ongoing.monitoring.domain import (
    DEFAULT_FLAGS,
    DatedScreenedWatchlist,
    MonitoringEvidence,
    MonitoringMatch,
    MonitoringResults,
    MonitoringSubscription,
    RegistrationActive,
    ScreenedWatchlist,
    ScreeningStatus,
)


async def list_screening_subjects_of_organisation(
    tx: Tx, organisation: Organisation, subscription: MonitoringSubscription
) -> list[ScreenedSubject]:
    """The organisation's records as screened subjects, the primary one first.

    Each register's record is screened separately, also after another one becomes primary, so that its matches and
    decisions stay.
    """
    return [_screened_subject(record, subscription) for record in await _records(tx, organisation)]


async def _records(tx: Tx, organisation: Organisation) -> list[Organisation]:
    return [organisation, *await organisations.list_merged_records(tx, organisation.id)]


def _screened_subject(record: Organisation, subscription: MonitoringSubscription) -> ScreenedSubject:
    return ScreenedSubject("organisation", record.id, subscription.partner_id)


async def screen_and_collect_evidence(
    tx: Tx, screener: Screener, organisation: Organisation, subscription: MonitoringSubscription
) -> MonitoringEvidence:
    """Collect current evidence from registers and watchlists; the lists are watched for changes."""
    if _is_fully_simulated(subscription.simulated_results):
        return MonitoringEvidence(registration_active="yes" if organisation.active else "no")
    records = await _records(tx, organisation)
    known = [_screened_subject(record, subscription) for record in records]
    results = []
    for record, who in zip(records, known, strict=True):
        others = [other for other in known if other != who]
        asked = matches.subject_details_of(record)
        results.append(await matches.screen(tx, screener, who, asked, monitor=True, merged_subjects=others))
    return _evidence_of(organisation, results)


async def load_current_evidence(
    tx: Tx, organisation: Organisation, subscription: MonitoringSubscription
) -> MonitoringEvidence:
    """The evidence of the last screening, later decisions, and the registers' current data."""
    if _is_fully_simulated(subscription.simulated_results):
        return MonitoringEvidence(registration_active="yes" if organisation.active else "no")
    results = [
        await matches.get_screening_result(tx, who)
        for who in await list_screening_subjects_of_organisation(tx, organisation, subscription)
    ]
    return replace(_evidence_of(organisation, results), screened_watchlists=subscription.sources)


def _is_fully_simulated(chosen: MonitoringResults | None) -> bool:
    """Whether the sandbox simulates every category, so that no list is screened."""
    return chosen is not None and all(category in chosen.status_by_category for category in CATEGORIES)


def _evidence_of(organisation: Organisation, results: Sequence[ScreeningResult]) -> MonitoringEvidence:
    lists = results[0].lists
    obstacle = next((result.obstacle for result in results if result.obstacle is not None), None)
    status: ScreeningStatus = "screened" if obstacle is None else "not_screened"
    versions = {version.code: version for version in lists}
    found = sorted((one for result in results for one in result.matches), key=lambda one: -one.score)
    return MonitoringEvidence(
        tuple(
            MonitoringMatch(
                one.list, versions[one.list].version_label, one.category, one.entry_key, one.score, one.decision
            )
            for one in found
        ),
        tuple(
            ScreenedWatchlist(version.code, version.version_label, category, status, obstacle)
            for version in lists
            for category in version.covered_categories("organisation")
        ),
        registration_status_of(organisation),
        manually_flagged_categories=tuple(
            one for one in CATEGORIES if any(result.manual_result == one for result in results)
        ),
        are_manual_lookups_done=all(
            result.manual_result is not None for result in results if result.obstacle is not None
        ),
    )


async def request_manual_screening(
    tx: Tx, organisation: Organisation, subscription: MonitoringSubscription, compliance_flags: Collection[Category]
) -> None:
    """Request a manual screening if an obstacle affects a list that counts for compliance."""
    if not any(
        source.status == "not_screened" and source.category in compliance_flags for source in subscription.sources
    ):
        return
    for who in await list_screening_subjects_of_organisation(tx, organisation, subscription):
        await matches.request_manual_screening(tx, who)


def registration_status_of(organisation: Organisation) -> RegistrationActive | None:
    """Whether the organisation's register lists it as active; None if no loaded register has it."""
    if not organisation.active:
        return "no"
    return "yes" if any(source.source_code is not None for source in organisation.sources) else None


def with_newer_watchlist_versions(
    subscription: MonitoringSubscription, screened_versions: Sequence[DatedScreenedWatchlist]
) -> MonitoringSubscription:
    """The subscription with the list versions that all live subscriptions were compared with, if newer than its own.

    Unchanged if its evaluation is due, since it was not compared with them yet.
    """
    if subscription.status != "live" or not subscription.sources or subscription.screened_at is None:
        return subscription
    if subscription.due_at is not None:
        return subscription
    own = subscription.sources[0]  # an obstacle for one list is one for all
    newer = [
        replace(one.watchlist, status=own.status, reason=own.reason)
        for one in screened_versions
        if one.screened_at > subscription.screened_at
    ]
    lists = {source.list for source in newer}
    stored = [source for source in subscription.sources if source.list not in lists]
    return replace(subscription, sources=tuple(sorted([*stored, *newer], key=lambda one: (one.list, one.category))))


async def load_compliance_flags(tx: Tx, subscription: MonitoringSubscription) -> frozenset[Category]:
    """The categories that count for compliance: of its configuration, else of its partner's default."""
    found = await configurations.find_configuration_or_default(
        tx, Partner(subscription.partner_id), subscription.configuration_id
    )
    return frozenset(found.compliance_flags) if found else DEFAULT_FLAGS
