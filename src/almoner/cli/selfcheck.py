"""``almoner selfcheck``: check every invariant, and report what is broken and what to do."""

import sys

import typer

from almoner.cli import outputs
from almoner.cli.database import run_with_database
from almoner.platform.observability import selfcheck as platform
from almoner.platform.observability.selfcheck import ConsistencyCheck, Finding
from almoner.selfchecks import CHECKS

_WIDTH = 76


def selfcheck() -> None:
    """Check that money, events and jobs are consistent.

    The exit status is 1 if a check fails. The command reads one snapshot of the database and changes nothing, so you
    can run it while the service is running.
    """
    outcome = run_with_database(lambda database: platform.run_selfcheck(database, CHECKS, _report))
    if sys.stdout.isatty():
        typer.echo("\r" + " " * (_WIDTH + 2) + "\r", nl=False)
    for finding in outcome.findings:
        _print_finding(finding)
    asked = f"{outcome.check_count} checks in {outcome.seconds:.1f} s"
    if outcome.findings:
        typer.echo(f"{asked}: {len(outcome.findings)} failed.")
        raise typer.Exit(1)
    typer.echo(f"{asked}: all passed.")


def _report(asked: int, check: ConsistencyCheck) -> None:
    """Show the progress on one line if the output is a terminal."""
    if sys.stdout.isatty():
        typer.echo(f"\r  {f'{asked} of {len(CHECKS)}: {check.name}':<{_WIDTH}}", nl=False)


def _print_finding(finding: Finding) -> None:
    check = finding.check
    typer.echo(f"{check.name}: {finding.count:,} found")
    typer.echo(f"  expected  {check.invariant}.")
    more = f", and {finding.count - len(finding.examples):,} more" if finding.count > len(finding.examples) else ""
    outputs.echo(f"  found     {', '.join(finding.examples)}{more}")
    typer.echo(f"  to do     {check.advice}.")
