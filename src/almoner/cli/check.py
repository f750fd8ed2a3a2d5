"""``almoner check``: whether the settings of a deployment work, before and after it is started."""

import asyncio
import json
from dataclasses import asdict
from typing import Annotated, Final

import typer

from almoner import deployment_probes, migrations, providers, settings, sources
from almoner.cli import failures, local, outputs
from almoner.cli.database import run_with_database_copy_check
from almoner.kit.time import SystemClock
from almoner.nonprofits.registers import checks as registers_checks
from almoner.platform.business_clock import BusinessClock
from almoner.platform.crypto import Vault
from almoner.platform.database import inspection, pooler_check
from almoner.platform.database.copy_detection import LIVE_VERDICTS, DatabaseCopyCheckResult
from almoner.platform.database.transactions import Database
from almoner.platform.observability import selfcheck
from almoner.platform.observability.deployment_checks import CheckResult, Probe, Status, run_probes
from almoner.screening.watchlists import checks as watchlists_checks
from almoner.settings import Settings

_FILE_ADVICE: Final = "Correct the file, or allow the service's account to read it."
_TIME_ZONE_ADVICE: Final = "Set it to the time zone in which your receipts are issued, or to UTC."
_COPY_ADVICE: Final = (
    "Nothing is sent, paid or deleted until you run `almoner release-copy`. See docs/runbooks/backup.md."
)
_CLOCK_WARNS: Final = 2.0
_CLOCK_FAILS: Final = 30.0
_DATA: Final = (*registers_checks.checks, *watchlists_checks.checks)


def check(
    mail_to: Annotated[str | None, typer.Option("--mail-to", help="Also send a test message to this address.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Check that the settings of this deployment work.

    Run this command before the first start and after every change to the settings. It checks the database, mail server,
    document storage, Stripe and DNS, and explains how to fix any problems. The command writes a test file and then
    deletes it, but changes nothing else. The exit status is 1 if a check fails.
    """
    given = settings.read_settings()
    with local.settings_with_embedded_database(given) as complete:
        results = asyncio.run(_all(complete, mail_to))
    results += _data_results(results)
    if as_json:
        typer.echo(json.dumps([asdict(one) for one in results], indent=2))
    else:
        for one in results:
            _print_result(one)
    failed = sum(one.status == "failed" for one in results)
    if not as_json:
        typer.echo(f"{len(results)} checks: {f'{failed} failed' if failed else 'none failed'}.")
    if failed:
        raise typer.Exit(1)


def _print_result(one: CheckResult) -> None:
    outputs.echo(f"{one.status:<8} {one.name}: {one.found}")
    if one.advice and one.status in ("failed", "warning"):
        outputs.echo(f"         to do: {one.advice}")


async def _all(given: Settings, mail_to: str | None) -> list[CheckResult]:
    """Run all checks that do not need a database connection."""
    clock = BusinessClock(SystemClock())

    async def unknown() -> list[CheckResult]:
        found: list[tuple[Status, str, str]] = [
            *(
                ("warning", one, "Correct the name of the setting, or remove the setting.")
                for one in settings.unknown_setting_warnings()
            ),
            *(("warning", one, _TIME_ZONE_ADVICE) for one in _unset_time_zone(given)),
            *(("failed", one, _FILE_ADVICE) for one in _unusable_files(given, clock)),
            *(("failed", one, "") for one in _unusable_folders(given)),
        ]
        return [CheckResult("settings", status, one, advice) for status, one, advice in found] or [
            CheckResult("settings", "ok", "complete, with no unknown settings")
        ]

    async def database() -> list[CheckResult]:
        try:
            (await migrations.connect_and_read_state(given.dsn)).ensure_servable()
            await pooler_check.ensure_pooler_supported(given.dsn)
            report = await inspection.inspect_database(given.dsn, Vault(given.master_key_bytes), clock)
        except Exception as error:
            if (explained := failures.explain_error(error)) is None:
                raise
            return [CheckResult("database", "failed", explained, "Follow docs/runbooks/start.md.")]
        return _describe_database(given, report)

    probes: list[tuple[str, str, Probe]] = [
        ("settings", "", unknown),
        ("database", "Follow docs/runbooks/start.md.", database),
        *deployment_probes.build_external_probes(given, clock, mail_to),
    ]
    return [one async for one in run_probes(probes)]


def _unset_time_zone(given: Settings) -> list[str]:
    """The problem of a production deployment whose legal days nobody has chosen."""
    if given.sandbox or "time_zone" in given.model_fields_set:
        return []
    return ["ALMONER_TIME_ZONE is not set, so receipts and tax years have the days of UTC"]


def _unusable_files(given: Settings, clock: BusinessClock) -> list[str]:
    """Check the files that the settings refer to.

    Servers and workers do not start if one of these files has a problem.
    """
    problems: list[str] = []
    receivers = settings.build_deployment(given, clock).outbound_address_policy
    for read in (
        lambda: providers.load_bank_accounts_by_currency(given),
        lambda: providers.load_giving_link_disclosures(given),
        lambda: sources.parse_register_refresh_schedule(given, receivers),
        lambda: sources.parse_watchlist_refresh_schedule(given, receivers),
    ):
        try:
            read()
        except settings.InvalidSettings as unsafe:
            problems += unsafe.problems
    return problems


def _unusable_folders(given: Settings) -> list[str]:
    """The problems of folders that the settings name; the folder of documents has a check of its own."""
    try:
        local.ensure_folders(given.model_copy(update={"documents_url": None}), "worker")
    except settings.InvalidSettings as unsafe:
        return unsafe.problems
    return []


def _describe_database(settings: Settings, report: inspection.DatabaseReport) -> list[CheckResult]:
    results = [CheckResult("database", "ok", f"PostgreSQL {report.version}, as {report.role}")]
    if report.missing_rights:
        named = ", ".join(report.missing_rights[:3])
        advice = "Run `almoner migrate` as the role that owns the tables."
        results.append(CheckResult("database rights", "failed", f"{report.role} has no rights to {named}", advice))
    elif report.is_owner and not settings.sandbox:
        advice = (
            "Connect with the role almoner_app in ALMONER_DATABASE_URL, so that the service cannot alter table "
            "definitions."
        )
        results.append(CheckResult("database rights", "warning", f"{report.role} owns the tables", advice))
    else:
        results.append(CheckResult("database rights", "ok", f"{report.role} can use the tables"))
    fits = inspection.has_enough_connections(report, settings.database_pool) and report.encoding == "UTF8"
    found = (
        f"max_connections {report.max_connections}, ALMONER_DATABASE_POOL {settings.database_pool}, {report.encoding}"
    )
    advice = (
        "Increase max_connections in PostgreSQL, or reduce ALMONER_DATABASE_POOL. Also make sure that the database "
        "encoding is UTF8."
    )
    results.append(CheckResult("database settings", "ok" if fits else "failed", found, advice))
    ahead = abs(report.clock_difference_seconds)
    status: Status = "ok" if ahead < _CLOCK_WARNS else "warning" if ahead < _CLOCK_FAILS else "failed"
    advice = "Synchronise the clocks of both machines with NTP."
    results.append(CheckResult("clock", status, f"differs by {ahead:.1f} s from the database's clock", advice))
    key = {
        True: ("ok", "matches the key that the database was created with"),
        False: ("failed", "does not match the key that the database was created with"),
        None: ("skipped", "no process has started yet"),
    }[report.master_key_matches]
    advice = "Set ALMONER_MASTER_KEY to the master key with which the database was created."
    results.append(CheckResult("master key", key[0], key[1], advice))  # type: ignore[arg-type]
    return results


def _data_results(results: list[CheckResult]) -> list[CheckResult]:
    """Run the self-checks of registers and watchlists. They are skipped if the database cannot be used."""
    if any(one.name in ("database", "database rights", "master key") and one.status == "failed" for one in results):
        return [CheckResult("registers and watchlists", "skipped", "the database cannot be used")]

    async def run_data_checks(
        database: Database, found: DatabaseCopyCheckResult
    ) -> tuple[selfcheck.SelfcheckOutcome, str]:
        return await selfcheck.run_selfcheck(database, _DATA), found.verdict

    outcome, verdict = run_with_database_copy_check(run_data_checks)
    copies = []
    if verdict not in LIVE_VERDICTS:
        copies = [CheckResult("deployment", "warning", f"this database is treated as a copy: {verdict}", _COPY_ADVICE)]
    broken = [
        CheckResult(one.check.name, "warning", ", ".join(one.examples), f"{one.check.advice}.")
        for one in outcome.findings
    ]
    return copies + (broken or [CheckResult("registers and watchlists", "ok", "no data is too old")])
