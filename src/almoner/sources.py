"""The formats of registers and watch lists that this service reads, and the schedule on which registers refresh."""

from collections.abc import Mapping
from pathlib import Path

from almoner.adapters.registers_acnc import Acnc
from almoner.adapters.registers_anbi import Anbi
from almoner.adapters.registers_ccew import Ccew
from almoner.adapters.registers_ccni import Ccni
from almoner.adapters.registers_cra import Cra, CraIdentification
from almoner.adapters.registers_cri import Cri
from almoner.adapters.registers_gb_links import DualRegistrations, Mergers, Reregistrations
from almoner.adapters.registers_irs_990n import Irs990N
from almoner.adapters.registers_irs_bmf import IrsBmf
from almoner.adapters.registers_irs_pub78 import IrsPub78
from almoner.adapters.registers_irs_revocations import IrsRevocations
from almoner.adapters.registers_mapped import MappedSource
from almoner.adapters.registers_mapping import from_file
from almoner.adapters.registers_nzcs import Nzcs
from almoner.adapters.registers_oscr import Oscr
from almoner.adapters.registers_rna import Rna
from almoner.adapters.watchlist_europe import EuropeanUnion, UnitedKingdom
from almoner.adapters.watchlist_ofac import CONSOLIDATED, SDN
from almoner.adapters.watchlist_tables import OpenSanctions, OwnFindings
from almoner.adapters.watchlist_un import UnitedNations
from almoner.adapters.watchlist_us import ConsolidatedScreening, DeniedPersons
from almoner.nonprofits.registers import jobs
from almoner.nonprofits.registers.domain import ImportRefused
from almoner.nonprofits.registers.jobs import Refresh, Refreshing
from almoner.nonprofits.registers.ports import RegisterSource
from almoner.platform.addresses import Policy
from almoner.platform.outbound import Outbound
from almoner.platform.telemetry import Telemetry
from almoner.screening.watchlists.domain import WatchlistRefused
from almoner.screening.watchlists.ports import WatchlistSource
from almoner.settings import Settings, UnsafeSettings

REGISTER_SOURCES: Mapping[str, RegisterSource] = {
    source.code: source
    for source in (
        IrsBmf(),
        IrsPub78(),
        IrsRevocations(),
        Irs990N(),
        Ccew(),
        Oscr(),
        Ccni(),
        Mergers(),
        Reregistrations(),
        DualRegistrations(),
        Acnc(),
        Cra(),
        CraIdentification(),
        Cri(),
        Nzcs(),
        Anbi(),
        Rna(),
    )
}
"""The formats that `almoner registers import` reads."""


WATCHLIST_SOURCES: Mapping[str, WatchlistSource] = {
    source.code: source
    for source in (
        SDN,
        CONSOLIDATED,
        UnitedNations(),
        UnitedKingdom(),
        EuropeanUnion(),
        DeniedPersons(),
        ConsolidatedScreening(),
        OpenSanctions(),
        OwnFindings(),
    )
}
"""The lists that `almoner watchlists import` reads."""


def watchlist_source(named: str) -> WatchlistSource:
    """The reader of that list. Raises WatchlistRefused."""
    if named in WATCHLIST_SOURCES:
        return WATCHLIST_SOURCES[named]
    raise WatchlistRefused(f"{named!r} is not a list that is read: use one of {', '.join(WATCHLIST_SOURCES)}")


def register_source(named: str) -> RegisterSource:
    """The format of that name, or the one that a mapping file (``.toml``) makes. Raises ImportRefused."""
    if named in REGISTER_SOURCES:
        return REGISTER_SOURCES[named]
    if named.endswith(".toml"):
        taken = {code: source.registry_code if source.lists else None for code, source in REGISTER_SOURCES.items()}
        return MappedSource(from_file(Path(named), taken))
    known = ", ".join(REGISTER_SOURCES)
    raise ImportRefused(f"{named!r} is not a format of a register: use one of {known}, or a mapping file (.toml)")


def refreshing(settings: Settings, policy: Policy, outbound: Outbound, telemetry: Telemetry) -> Refreshing:
    """Registers that refresh themselves. Raises UnsafeSettings when their schedule cannot be kept."""
    return Refreshing(schedule(settings, policy), outbound, settings.registers_folder, telemetry)


def schedule(settings: Settings, policy: Policy) -> tuple[Refresh, ...]:
    """The schedule that the settings name, none by default. Raises UnsafeSettings."""
    if settings.register_schedule is None:
        return ()
    try:
        return jobs.parse(settings.register_schedule.read_text(encoding="utf-8"), register_source, policy)
    except (OSError, UnicodeDecodeError) as error:
        problems = [f"cannot be read: {error}"]
    except jobs.ScheduleInvalid as error:
        problems = error.problems
    raise UnsafeSettings([f"ALMONER_REGISTER_SCHEDULE: {problem}" for problem in problems])
