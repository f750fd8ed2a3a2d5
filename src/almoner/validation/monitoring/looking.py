"""Looking at a subscription: its request, its organisation's register, and the watch lists."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime

from almoner.nonprofits.organisations.domain import Organisation
from almoner.platform.db import Tx
from almoner.screening.screenings.domain import Result, Who
from almoner.screening.screenings.service import Screener
from almoner.screening.watchlists.domain import CATEGORIES
from almoner.validation.matches import service as matches
from almoner.validation.monitoring.domain import Active, Match, MonitoringSubscription, Results, Seen, Source


def who(organisation: Organisation, subscription: MonitoringSubscription) -> Who:
    """The organisation, as it is compared with the lists."""
    return Who("organisation", organisation.id, subscription.partner_id)


async def look(tx: Tx, screener: Screener, organisation: Organisation, subscription: MonitoringSubscription) -> Seen:
    """What registers and lists say now; the lists are asked again whenever they change."""
    if _told(subscription.chosen):
        return Seen(active="yes" if organisation.active else "no")
    asked = matches.asked_of(organisation)
    return _seen(organisation, await matches.look(tx, screener, who(organisation, subscription), asked, watch=True))


async def known(tx: Tx, organisation: Organisation, subscription: MonitoringSubscription) -> Seen:
    """What is known by the last look at the lists, and what registers say now."""
    if _told(subscription.chosen):
        return Seen(active="yes" if organisation.active else "no")
    return _seen(organisation, await matches.result(tx, who(organisation, subscription)))


def _told(chosen: Results | None) -> bool:
    """Whether the sandbox was told to say something of every category, so that no list is asked."""
    return chosen is not None and all(category in chosen.categories for category in CATEGORIES)


def _seen(organisation: Organisation, result: Result) -> Seen:
    versions = {version.code: version for version in result.lists}
    return Seen(
        tuple(
            Match(one.list, versions[one.list].version, one.category, one.entry_key, one.score, one.decision)
            for one in result.matches
        ),
        tuple(
            Source(version.code, version.version, category)
            for version in result.lists
            for category in version.load.categories
        ),
        active_in_register(organisation),
    )


def active_in_register(organisation: Organisation) -> Active | None:
    """What its register says; None for a body that no list which is loaded here has."""
    if not organisation.active:
        return "no"
    return "yes" if any(source.code is not None for source in organisation.sources) else None


def compared(subscription: MonitoringSubscription, since: Sequence[tuple[Source, datetime]]) -> MonitoringSubscription:
    """With the versions of lists up to which all live ones are compared, where they are newer than its own look."""
    if subscription.status != "live" or not subscription.sources or subscription.screened_at is None:
        return subscription
    newer = [source for source, at in since if at > subscription.screened_at]
    lists = {source.list for source in newer}
    kept = [source for source in subscription.sources if source.list not in lists]
    return replace(subscription, sources=tuple(sorted([*kept, *newer], key=lambda one: (one.list, one.category))))
