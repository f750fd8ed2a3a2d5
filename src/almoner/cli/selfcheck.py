"""``almoner selfcheck``: check every invariant, and report what is broken and what to do."""

import typer

from almoner.cli import outputs
from almoner.cli.database import run_with_database
from almoner.cli.progress import ProgressLine
from almoner.platform.observability import selfcheck as platform
from almoner.platform.observability.selfcheck import ConsistencyCheck, Finding
from almoner.selfchecks import CHECKS


def selfcheck() -> None:
    """Check that money, events and jobs are consistent.

    The exit status is 1 if a check fails. The command reads one snapshot of the database and changes nothing, so you
    can run it while the service is running.
    """
    line = ProgressLine()

    def report(asked: int, check: ConsistencyCheck) -> None:
        line.show(f"{asked} of {len(CHECKS)}: {check.name}")

    outcome = run_with_database(lambda database: platform.run_selfcheck(database, CHECKS, report))
    line.clear()
    for finding in outcome.findings:
        _print_finding(finding)
    asked = f"{outcome.check_count} checks in {outcome.seconds:.1f} s"
    if outcome.findings:
        typer.echo(f"{asked}: {len(outcome.findings)} failed.")
        raise typer.Exit(1)
    typer.echo(f"{asked}: all passed.")


def _print_finding(finding: Finding) -> None:
    check = finding.check
    typer.echo(f"{check.name}: {finding.count:,} found")
    typer.echo(f"  expected  {check.invariant}.")
    more = f", and {finding.count - len(finding.examples):,} more" if finding.count > len(finding.examples) else ""
    outputs.echo(f"  found     {', '.join(finding.examples)}{more}")
    typer.echo(f"  to do     {check.advice}.")
