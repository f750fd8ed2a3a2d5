"""The formats of registers and watchlists that this service reads, and the schedules on which they refresh."""

from collections.abc import Callable, Iterator, Mapping
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Final, TypeVar

from almoner.nonprofits.registers.domain import ImportRefused
from almoner.nonprofits.registers.jobs import Refresh, RegisterRefreshContext
from almoner.nonprofits.registers.ports import RegisterSource
from almoner.platform.jobs import refresh_schedule
from almoner.platform.jobs.refresh_schedule import Format, SourceFormat
from almoner.platform.observability.telemetry import Telemetry
from almoner.platform.outbound.addresses import AddressPolicy
from almoner.platform.outbound.client import OutboundClient
from almoner.screening.watchlists.domain import WatchlistImportRefused
from almoner.screening.watchlists.jobs import WatchlistRefreshContext
from almoner.screening.watchlists.ports import WatchlistSource
from almoner.settings import InvalidSettings, Settings

_Source = TypeVar("_Source", bound=SourceFormat)


class _LazySources(Mapping[str, _Source]):
    """Readers by code, each imported on first use: an idle server reads no registers."""

    def __init__(self, places: Mapping[str, str]) -> None:
        self._places = places
        self._found = cache(self._import)

    def __iter__(self) -> Iterator[str]:
        return iter(self._places)

    def __len__(self) -> int:
        return len(self._places)

    def __contains__(self, code: object) -> bool:
        return code in self._places

    def __getitem__(self, code: str) -> _Source:
        return self._found(code)

    def _import(self, code: str) -> _Source:
        module, _, name = self._places[code].partition(".")
        named = getattr(import_module(f"almoner.adapters.{module}"), name)
        source: _Source = named() if isinstance(named, type) else named
        assert source.code == code, f"{self._places[code]} reads {source.code}"
        return source


_REGISTERS: Final = {
    "irs-bmf": "registers_irs_bmf.IrsBmfReader",
    "irs-pub78": "registers_irs_pub78.IrsPub78Reader",
    "irs-revocations": "registers_irs_revocations.IrsRevocationsReader",
    "irs-990n": "registers_irs_990n.Irs990NReader",
    "ccew": "registers_ccew.CcewReader",
    "oscr": "registers_oscr.OscrReader",
    "ccni": "registers_ccni.CcniReader",
    "gb-mergers": "registers_gb_links.CharityMergersReader",
    "gb-reregistrations": "registers_gb_links.ReregistrationsReader",
    "gb-dual": "registers_gb_links.DualRegistrationsReader",
    "acnc": "registers_acnc.AcncReader",
    "cra": "registers_cra.CraReader",
    "cra-t3010": "registers_cra.CraIdentificationReader",
    "cri": "registers_cri.CriReader",
    "nzcs": "registers_nzcs.NzcsReader",
    "anbi": "registers_anbi.AnbiReader",
    "rna": "registers_rna.RnaReader",
}
_WATCHLISTS: Final = {
    "ofac-sdn": "watchlist_ofac.SDN",
    "ofac-consolidated": "watchlist_ofac.CONSOLIDATED",
    "ofac-sdn-sample": "watchlist_ofac.SAMPLE",
    "un-consolidated": "watchlist_un.UnSanctionsReader",
    "uk-sanctions": "watchlist_europe.UkSanctionsReader",
    "eu-consolidated": "watchlist_europe.EuSanctionsReader",
    "us-bis-dpl": "watchlist_us.DeniedPersonsReader",
    "us-csl": "watchlist_us.ConsolidatedScreeningReader",
    "opensanctions": "watchlist_tables.OpenSanctionsReader",
    "own": "watchlist_tables.OperatorWatchlistReader",
}

REGISTER_SOURCES: Mapping[str, RegisterSource] = _LazySources(_REGISTERS)
"""The formats that `almoner registers import` reads."""

WATCHLIST_SOURCES: Mapping[str, WatchlistSource] = _LazySources(_WATCHLISTS)
"""The lists that `almoner watchlists import` reads."""


def get_watchlist_source(code: str) -> WatchlistSource:
    """The reader of a watchlist. Raises WatchlistImportRefused."""
    if code in WATCHLIST_SOURCES:
        return WATCHLIST_SOURCES[code]
    raise WatchlistImportRefused(f"{code!r} is not a list that is read: use one of {', '.join(WATCHLIST_SOURCES)}")


def get_register_source(code_or_path: str) -> RegisterSource:
    """The register source of that name, or of a mapping file (``.toml``). Raises ImportRefused."""
    if code_or_path in REGISTER_SOURCES:
        return REGISTER_SOURCES[code_or_path]
    if code_or_path.endswith(".toml"):
        from almoner.adapters.registers_mapped import MappedRegisterReader  # on first use (architecture 6)
        from almoner.adapters.registers_mapping import load_mapping

        taken = {
            code: source.registry_code if source.lists_organisations else None
            for code, source in REGISTER_SOURCES.items()
        }
        return MappedRegisterReader(load_mapping(Path(code_or_path), taken))
    known = ", ".join(REGISTER_SOURCES)
    raise ImportRefused(
        f"{code_or_path!r} is not a format of a register: use one of {known}, or a mapping file (.toml)"
    )


def build_register_refresh_context(
    settings: Settings, address_policy: AddressPolicy, outbound: OutboundClient, telemetry: Telemetry
) -> RegisterRefreshContext:
    """The context of scheduled register refreshes. Raises InvalidSettings for an invalid schedule."""
    return RegisterRefreshContext(
        parse_register_refresh_schedule(settings, address_policy), outbound, settings.registers_folder, telemetry
    )


def parse_register_refresh_schedule(settings: Settings, address_policy: AddressPolicy) -> tuple[Refresh, ...]:
    """The schedule in the settings; empty by default. Raises InvalidSettings."""
    return _read_schedule(
        "ALMONER_REGISTER_SCHEDULE", settings.register_schedule, get_register_source, address_policy, ImportRefused
    )


def build_watchlist_refresh_context(
    settings: Settings, address_policy: AddressPolicy, outbound: OutboundClient, telemetry: Telemetry
) -> WatchlistRefreshContext:
    """The context of scheduled watchlist refreshes. Raises InvalidSettings for an invalid schedule."""
    return WatchlistRefreshContext(
        parse_watchlist_refresh_schedule(settings, address_policy), outbound, settings.watchlists_folder, telemetry
    )


def parse_watchlist_refresh_schedule(
    settings: Settings, address_policy: AddressPolicy
) -> tuple[refresh_schedule.ScheduledRefresh[WatchlistSource], ...]:
    """The schedule in the settings; empty by default. Raises InvalidSettings."""
    return _read_schedule(
        "ALMONER_WATCHLIST_SCHEDULE",
        settings.watchlist_schedule,
        get_watchlist_source,
        address_policy,
        WatchlistImportRefused,
    )


def _read_schedule(
    setting: str,
    file: Path | None,
    named: Callable[[str], Format],
    policy: AddressPolicy,
    refused: type[Exception],
) -> tuple[refresh_schedule.ScheduledRefresh[Format], ...]:
    if file is None:
        return ()
    try:
        return refresh_schedule.parse_refresh_schedule(file.read_text(encoding="utf-8-sig"), named, policy, refused)
    except (OSError, UnicodeDecodeError) as error:
        problems = [f"cannot be read: {error}"]
    except refresh_schedule.InvalidRefreshSchedule as error:
        problems = error.problems
    raise InvalidSettings([f"{setting}: {problem}" for problem in problems])
