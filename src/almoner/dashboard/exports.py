"""Large lists as CSV files: a job prepares each for its requester, and it is deleted seven days later."""

import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import Final
from uuid import UUID

import msgspec
from starlette.datastructures import QueryParams

from almoner.access.notifications.service import Email, NotificationDefinition
from almoner.access.people import service as people
from almoner.access.people.domain import NoSuchPerson, Person, member_realm
from almoner.dashboard import store_exports
from almoner.dashboard.domain import EXPORT_RETENTION, EXPORTERS, CsvExport, RecordList, has_scope
from almoner.dashboard.list_files import RecordListReader, may_see_donor_data
from almoner.dashboard.member_api_client import ActingMember, ApiCallRejected, JobActingMember
from almoner.dashboard.record_lists import LISTS
from almoner.dashboard.store_exports import list_referenced_blob_keys as list_referenced_blob_keys
from almoner.platform.database.transactions import Partner, Tx
from almoner.platform.files.storage import BlobStore, StorageUnavailable
from almoner.platform.jobs.background_tasks import DependentTaskRegistry, JobContext, TaskRegistry
from almoner.platform.jobs.queue import DecodedJob, JobDone, JobKind, JobRetry, Result
from almoner.platform.outbound.mail_rendering import MailRenderer
from almoner.platform.pages.formats import format_whole_number
from almoner.platform.pages.translations import TranslationCatalogues

PATH: Final = "/exports"
MOST_EXPORTS: Final = 20
"""The maximum number of files that a partner can have at a time."""
_MOST_RECORDS: Final = 5_000_000
_LONGEST: Final = timedelta(hours=3)
_STORAGE_WAIT: Final = timedelta(minutes=5)
_BATCH: Final = 100
_LISTS: Final[Mapping[str, RecordList]] = {one.path: one for one in LISTS}


class ExportJobDetails(msgspec.Struct, frozen=True):
    """The details of a job about one file."""

    partner: UUID
    export: UUID


class RemoveExportFileJob(msgspec.Struct, frozen=True):
    """The details of the job that deletes an expired file. ``key``: its storage key."""

    key: str


PREPARE: Final = JobKind("csv_exports.prepare", ExportJobDetails)
NOTIFY: Final = JobKind("csv_exports.notify", ExportJobDetails)
REMOVE: Final = JobKind("csv_exports.remove", RemoveExportFileJob)


@dataclass(frozen=True, slots=True)
class ExportJobDependencies:
    """The parts of the deployment that CSV exports need."""

    record_list_reader: RecordListReader
    blobs: BlobStore
    catalogues: TranslationCatalogues


tasks: Final = TaskRegistry()
file_tasks: Final = DependentTaskRegistry[ExportJobDependencies]()


def may_export(person: Person, record_list: RecordList) -> bool:
    """Whether the person may export the list."""
    return person.has_role(*EXPORTERS[record_list.area]) and has_scope(person.roles, record_list.scope)


def may_download(member: ActingMember, export: CsvExport) -> bool:
    """Whether the member requested the file and may still see its content."""
    declared = _LISTS[export.list]
    return (
        export.person_id == member.person.id
        and may_export(member.person, declared)
        and (not export.contains_donor_data or may_see_donor_data(member, declared))
    )


async def request_export(tx: Tx, member: ActingMember, record_list: RecordList, query: str) -> CsvExport | None:
    """Enqueue the export of a list; None if the partner has reached the limit."""
    partner = Partner(member.realm.id)
    created = CsvExport(
        tx.new_id(),
        member.person.id,
        record_list.path,
        query,
        may_see_donor_data(member, record_list),
        "pending",
        None,
        tx.now,
        tx.now + EXPORT_RETENTION,
    )
    if not await store_exports.insert_export(tx, partner, created, MOST_EXPORTS):
        return None
    await PREPARE.enqueue(tx, ExportJobDetails(partner.id, created.id), lane=f"csv_exports:{partner.id}")
    return created


@file_tasks.job(PREPARE, time_limit=_LONGEST)
async def build_export_file(
    dependencies: ExportJobDependencies, context: JobContext, job: DecodedJob[ExportJobDetails]
) -> Result:
    """Write the file with the records that its requester may see now. After a crash, it starts over."""
    partner = Partner(job.details.partner)
    async with context.db.read() as tx:
        export = await store_exports.find_export(tx, partner, job.details.export)
        person = None if export is None else await _find_person(tx, partner, export.person_id)
    if export is None or export.status != "pending":
        return JobDone()
    key = None
    if person is not None and may_download(JobActingMember(person), export):
        try:
            key = await _write_file(dependencies, person, export)
        except StorageUnavailable as away:
            return JobRetry(_STORAGE_WAIT, str(away))
        except ApiCallRejected:
            key = None  # the list no longer accepts these filters
    async with context.db.write() as tx:
        recorded = await store_exports.record_export_file(tx, partner, export.id, key, tx.now + EXPORT_RETENTION)
        if recorded and key is not None:
            await NOTIFY.enqueue(tx, job.details)
        elif key is not None:
            await REMOVE.enqueue(tx, RemoveExportFileJob(key))
    return JobDone()


async def _write_file(dependencies: ExportJobDependencies, person: Person, export: CsvExport) -> str:
    language = dependencies.catalogues.language(person.language)
    notice = language.text("dashboard.list.limit", limit=format_whole_number(_MOST_RECORDS, language.locale))
    query = QueryParams(export.query)
    with tempfile.TemporaryFile() as file:
        async for lines in dependencies.record_list_reader.stream_csv_lines(
            JobActingMember(person), _LISTS[export.list], query, _MOST_RECORDS, notice
        ):
            file.write(lines)
        file.seek(0)
        return await dependencies.blobs.put(file)


@file_tasks.job(REMOVE)
async def remove_export_file(
    dependencies: ExportJobDependencies, _context: JobContext, job: DecodedJob[RemoveExportFileJob]
) -> Result:
    """Delete a file whose download period has expired."""
    try:
        await dependencies.blobs.remove(job.details.key)
    except StorageUnavailable as away:
        return JobRetry(_STORAGE_WAIT, str(away))
    return JobDone()


async def delete_expired_exports(tx: Tx) -> int:
    """Delete a batch of expired files; returns how many."""
    keys = await store_exports.delete_expired_and_return_storage_keys(tx, _BATCH)
    for key in keys:
        if key is not None:
            await REMOVE.enqueue(tx, RemoveExportFileJob(key))
    return len(keys)


async def _next_expiry(tx: Tx) -> datetime | None:
    return await store_exports.next_export_expiry_at(tx)


tasks.add_periodic_job("csv_exports.delete", _next_expiry, delete_expired_exports, period=timedelta(days=1))


async def compose_export_email(tx: Tx, _mails: MailRenderer, job: DecodedJob[ExportJobDetails]) -> Email | None:
    """The email with the download link, without content; None if there is nobody to notify."""
    partner = Partner(job.details.partner)
    export = await store_exports.find_export(tx, partner, job.details.export)
    person = None if export is None else await _find_person(tx, partner, export.person_id)
    if export is None or person is None or person.email is None or not may_download(JobActingMember(person), export):
        return None
    link = f"{tx.base_urls.pages}/account/{tx.ids.encode('partner', partner.id)}{PATH}"
    return Email(person.email, f"csv-export:{export.id}", {"link": link}, person.language, partner.id)


async def _find_person(tx: Tx, partner: Partner, person_id: UUID) -> Person | None:
    try:
        return await people.get(tx, member_realm(partner), person_id)
    except NoSuchPerson:
        return None


notifications: Final = (
    NotificationDefinition(NOTIFY, Path(__file__).parent / "mails" / "csv_export.html", compose_export_email),
)
