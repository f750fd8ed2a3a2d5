"""``almoner organisations``: how nonprofits are shown and found."""

from pathlib import Path
from typing import Annotated, Final

import typer

from almoner.cli.access import parse_id
from almoner.cli.caller import (
    CommandCaller,
    Note,
    administrator_command,
    build_administrator_check,
    operator_command,
    require_two_person_approval_if_enabled,
)
from almoner.cli.database import run_with_database
from almoner.cli.progress import ProgressLine
from almoner.cli.tables import Output
from almoner.kit import web
from almoner.kit.errors import NotFound
from almoner.nonprofits.branding import domain as branding_domain
from almoner.nonprofits.branding import service as branding
from almoner.nonprofits.branding.service import BrandingChange
from almoner.nonprofits.organisations import flows as organisations_flows
from almoner.nonprofits.organisations import service as organisations_service
from almoner.nonprofits.organisations.domain import RegistryNumberTaken
from almoner.nonprofits.organisations.flows import ReindexReport
from almoner.nonprofits.registers import service as registers
from almoner.nonprofits.registers.domain import ImportRefused
from almoner.nonprofits.registers.service import PairDecision
from almoner.platform.audit.log import DEPLOYMENT
from almoner.platform.database.transactions import Database, Tx
from almoner.platform.files import images
from almoner.platform.files.images import Image
from almoner.platform.files.uploads.problems import FiletypeNotSupported

MAX_NOTE_LENGTH: Final = 2000
_MAX_WEBSITE_LENGTH: Final = 255
_REVIEWER: Final = "reviewer"

commands = typer.Typer(help="Manage nonprofits' records, branding and search index.", no_args_is_help=True)

Record = Annotated[str, typer.Argument(metavar="ORGANISATION", help="Organisation ID.")]
_File = tuple[Path, bytes]
_Pictures = typer.Option(
    help="JPEG or PNG image. Can be repeated. The images replace the current images.", exists=True, dir_okay=False
)


@commands.callback()
def organisations() -> None:
    """Manage nonprofits' records, branding and search index."""


@commands.command("brand")
@administrator_command
async def brand_organisation(
    tx: Tx,
    caller: CommandCaller,
    organisation: Annotated[str, typer.Argument(help="Organisation ID.")],
    name: Annotated[str | None, typer.Option(help='Display name. Use "" to show the name in the register.')] = None,
    description: Annotated[
        str | None,
        typer.Option(help='Description of what the organisation does. Use "" to show the description in the register.'),
    ] = None,
    logo: Annotated[
        Path | None, typer.Option(help="JPEG or PNG image for use on a white background.", exists=True, dir_okay=False)
    ] = None,
    image: Annotated[list[Path] | None, _Pictures] = None,
    colour: Annotated[str | None, typer.Option(help="Brand colour, such as #0d5c4a.")] = None,
    clear: Annotated[bool, typer.Option("--clear", help="Remove all branding.")] = False,
) -> Output:
    """Set an organisation's name, description, images and colour.

    Options that you leave out keep their current values.
    """
    if clear != all(given is None for given in (name, description, logo, image, colour)):
        raise typer.BadParameter("use --name, --description, --logo, --image or --colour, or use --clear on its own")

    emblem = None if logo is None else _read(logo)
    pictures = None if image is None else [_read(path) for path in image]
    organisation_id = tx.ids.decode("organisation", organisation)
    try:
        if organisation_id is None:
            raise NotFound
        if clear:
            branded = await branding.reset_branding_of_primary_record(tx, organisation_id)
        else:
            made = None if pictures is None else [await _image(file, branding_domain.IMAGE_SIDE) for file in pictures]
            sign = None if emblem is None else await _image(emblem, branding_domain.LOGO_SIDE)
            change = BrandingChange(name, description, sign, made, colour)
            branded = await branding.update_branding_of_primary_record(tx, organisation_id, change)
    except NotFound:
        raise typer.BadParameter(f"there is no organisation {organisation}") from None
    except ValueError as error:
        raise typer.BadParameter(str(error)) from error
    own, shown = tx.ids.encode("organisation", branded.primary_record_id), branded.overrides
    await caller.record_audit_entry(tx, DEPLOYMENT, "organisation.branded", own, cleared=clear)
    return (
        f"{own}  name {shown.display_name or '-'}  description {'yes' if shown.description else '-'}  "
        f"logo {'yes' if shown.logo else '-'}  images {len(shown.images)}  colour {shown.primary_color or '-'}"
    )


@commands.command("reindex")
def reindex() -> None:
    """Rebuild the search index of all organisations.

    Use this command when `almoner selfcheck` reports problems with search. Searches keep working during the rebuild,
    but imports may be blocked for part of the time. If the command is interrupted, run it again.
    """
    line = ProgressLine()

    def report(now: ReindexReport) -> None:
        line.show(f"{now.checked_organisation_count:,} organisations, {now.repaired_organisation_count:,} repaired")

    async def run(database: Database) -> ReindexReport:
        who = await build_administrator_check(database)
        async with database.write() as tx:
            await who(tx)  # check the operator before the minutes of work, and again at the end

        async def record(tx: Tx, done: ReindexReport) -> None:
            officer = await who(tx)
            repaired = f"{done.repaired_organisation_count} organisations, {done.corrected_word_count} words"
            await officer.record_audit_entry(
                tx, DEPLOYMENT, "organisations.reindexed", repaired, bodies=done.checked_organisation_count
            )

        return await organisations_flows.reindex_organisations(database, on_progress=report, record_audit=record)

    done = run_with_database(run)
    line.clear()
    typer.echo(
        f"{done.checked_organisation_count:,} organisations checked: "
        f"{done.repaired_organisation_count:,} organisations and {done.corrected_word_count:,} words repaired."
    )


@commands.command("publish")
@operator_command(_REVIEWER)
async def publish_organisation(
    tx: Tx,
    caller: CommandCaller,
    organisation: Annotated[str, typer.Argument(help="Organisation ID, from an accepted validation request.")],
    note: Note,
    website: Annotated[
        list[str] | None,
        typer.Option(
            help="Website of the organisation. Check that the website belongs to the organisation, because Almoner "
            "uses it to verify agents. Can be repeated."
        ),
    ] = None,
) -> str:
    """Make an organisation visible to all partners.

    Use this command if a partner's validation request for the organisation was accepted and the organisation is not in
    any imported register. The website that the partner entered is not published. To publish a website, check that it
    belongs to the organisation, and add it with --website.
    """
    reported = _checked_note(note)
    websites = [one.strip() for one in website or ()]
    if wrong := [one for one in websites if not web.is_web_address(one) or len(one) > _MAX_WEBSITE_LENGTH]:
        raise typer.BadParameter(f"--website must be a web address such as https://example.org, not {wrong[0]}")
    organisation_id = tx.ids.decode("organisation", organisation)
    try:
        if organisation_id is None:
            raise NotFound
        await organisations_service.make_organisation_public(tx, organisation_id, websites)
    except NotFound:
        raise typer.BadParameter(f"there is no unpublished organisation {organisation}") from None
    except RegistryNumberTaken as error:
        raise typer.BadParameter(str(error)) from None
    await caller.record_audit_entry(
        tx, DEPLOYMENT, "organisation.published", organisation, note=reported, websites=", ".join(websites)
    )
    return f"{organisation} has been published."


@commands.command("merge")
@administrator_command
async def merge_organisations(tx: Tx, caller: CommandCaller, one: Record, other: Record, note: Note) -> str:
    """Merge two records of the same organisation.

    Both registration numbers then lead to one record. Past donations and verifications stay with their original record.
    If two-person approval is on, a second administrator must run the same command.
    """
    return await _decide_pair(tx, caller, "merge", (one, other), note)


@commands.command("separate")
@administrator_command
async def separate_organisations(tx: Tx, caller: CommandCaller, one: Record, other: Record, note: Note) -> str:
    """Separate two records that operators merged.

    Each registration number then leads to its own record again. If a register also links the two records, the records
    stay merged. If two-person approval is on, a second administrator must run the same command.
    """
    return await _decide_pair(tx, caller, "separate", (one, other), note)


async def _decide_pair(
    tx: Tx, officer: CommandCaller, decision: PairDecision, names: tuple[str, str], note: str
) -> str:
    reported = _checked_note(note)
    ids = [parse_id(tx, "organisation", name) for name in names]
    try:
        pair = await registers.load_record_pair(tx, *ids)
        if reason := pair.refusal_reason(decision):
            raise ImportRefused(reason)
        subject = " ".join(sorted(tx.ids.encode("organisation", one.id) for one in (pair.one, pair.other)))
        action = f"organisation.{decision}"
        agreed = await require_two_person_approval_if_enabled(
            tx, officer, "administrator", action, subject, pair.fingerprint, reported, DEPLOYMENT
        )
        if isinstance(agreed, str):
            return agreed
        await registers.merge_or_separate_records(tx, pair, decision)
    except NotFound:
        raise typer.BadParameter(f"there is no published organisation {names[0]} or {names[1]}") from None
    except ImportRefused as refused:
        raise typer.BadParameter(str(refused)) from None
    done = "organisation.merged" if decision == "merge" else "organisation.separated"
    await officer.record_audit_entry(tx, DEPLOYMENT, done, subject, note=reported, deciders=agreed.approver_count)
    lead = "lead to one record" if decision == "merge" else "lead to their own records again"
    return f"{pair.one.registry_number} and {pair.other.registry_number} {lead}."


def _checked_note(note: str) -> str:
    """Raises BadParameter."""
    if not 1 <= len(reported := note.strip()) <= MAX_NOTE_LENGTH:
        raise typer.BadParameter(f"--note must be 1 to {MAX_NOTE_LENGTH} characters")
    return reported


async def _image(file: _File, side: int) -> Image:
    path, content = file
    try:
        return await images.reencode_image(content, longest_side=side)
    except FiletypeNotSupported:
        raise ValueError(f"{path} is not a readable JPEG or PNG") from None


def _read(path: Path) -> _File:
    return path, path.read_bytes()
