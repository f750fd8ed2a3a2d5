"""Download published files, only if they changed, resuming interrupted downloads.

Each URL has its own folder under the given one: the file under its published name, the server's headers
(``.fetched.json``), and an unfinished download (``.partial`` and ``.partial.json``). Every hop of a redirect goes
through the guarded client (architecture 5).
"""

import asyncio
import fcntl
import json
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from datetime import datetime
from email.utils import parsedate_to_datetime
from hashlib import file_digest, sha256
from pathlib import Path
from typing import Final, NamedTuple
from urllib.parse import urljoin

from almoner.platform.database.transactions import Database
from almoner.platform.outbound import remote_files
from almoner.platform.outbound.addresses import AddressRefused, parse_target
from almoner.platform.outbound.client import OutboundClient, OutboundFailure, StreamedResponse, TargetNotAllowed
from almoner.platform.outbound.remote_files import FetchRefused as FetchRefused

_OWNER: Final = "fetching"
_MOST_HOPS: Final = 5
_TRIES_IN_VAIN: Final = 4
_REDIRECTS: Final = frozenset({301, 302, 303, 307, 308})


class FetchInterrupted(FetchRefused):
    """The download broke off; the next attempt resumes it."""


@dataclass(frozen=True, slots=True)
class FetchLimits:
    """The largest file, and the first retry pause, which doubles."""

    max_bytes: int = 8 << 30
    first_retry_delay_seconds: float = 0.1


_LIMITS: Final = FetchLimits()


@dataclass(frozen=True, slots=True)
class FetchedFile:
    """A downloaded file with its response headers.

    ``changed`` is False if the stored file is still the published one. ``sha256`` is of the bytes as sent.
    """

    url: str
    path: Path
    size: int
    sha256: bytes
    etag: str | None
    last_modified: datetime | None
    retrieved_at: datetime
    changed: bool


@dataclass(frozen=True, slots=True)
class FetchProgress:
    """The progress of a download. ``total_bytes`` is None if unknown."""

    name: str
    received_bytes: int
    total_bytes: int | None


ReportFetchProgress = Callable[[FetchProgress], None]


class ResolvedFiles(NamedTuple):
    """All files, and those of them that were downloaded."""

    paths: list[Path]
    fetched_files: list[FetchedFile]


async def resolve_files(
    db: Database, folder: Path, paths_or_urls: Sequence[str], report_progress: ReportFetchProgress | None = None
) -> ResolvedFiles:
    """The files of paths and URLs, in order; downloads those of URLs.

    ``folder`` is the source's in the data directory. Raises FetchRefused if a path does not exist or a file cannot be
    downloaded.
    """
    found: list[Path] = []
    fetched: list[FetchedFile] = []
    outbound = OutboundClient(db.deployment.outbound_address_policy, identity=db.deployment.identity)
    try:
        for place in paths_or_urls:
            if is_url(place):
                fetched.append(await fetch_file(outbound, folder, place, db.deployment.clock.real_now, report_progress))
                found.append(fetched[-1].path)
            elif await asyncio.to_thread(Path(place).exists):
                found.append(Path(place))
            else:
                where = "" if Path(place).is_absolute() else f", seen from {Path.cwd()}"
                raise FetchRefused(f"{place} is neither a file or folder nor a web address{where}")
    finally:
        await outbound.close()
    return ResolvedFiles(found, fetched)


def is_url(path_or_url: str) -> bool:
    """Whether the place is a web address to download from."""
    return path_or_url.lower().startswith(("https://", "http://"))


async def fetch_file(
    outbound: OutboundClient,
    folder: Path,
    url: str,
    real_now: Callable[[], datetime],
    report_progress: ReportFetchProgress | None = None,
    limits: FetchLimits = _LIMITS,
) -> FetchedFile:
    """Download a published file unless it is unchanged. Raises FetchRefused, FetchInterrupted."""
    own = folder / sha256(url.encode()).hexdigest()[:12]
    await asyncio.to_thread(own.mkdir, parents=True, exist_ok=True)
    with _folder_lock(own, url):
        return await _Download(outbound, own, url, real_now, report_progress or (lambda _: None), limits).run()


@contextmanager
def _folder_lock(folder: Path, url: str) -> Iterator[None]:
    """Lock the download folder against concurrent downloads of the same file."""
    with (folder / ".lock").open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            raise FetchInterrupted(f"{url} is being fetched by another process") from error
        yield


class _Retry(Exception):
    """The attempt failed or was cut off; the text says how."""


@dataclass(frozen=True, slots=True)
class _Version:
    """The version of a file that was sent, for ``If-Range`` and conditional requests."""

    name: str
    etag: str | None
    last_modified: str | None
    total: int | None

    @classmethod
    def of(cls, url: str, headers: Mapping[str, str], total: int | None) -> "_Version":
        return cls(
            remote_files.published_file_name(url, headers), headers.get("ETag"), headers.get("Last-Modified"), total
        )

    @property
    def validator(self) -> str | None:
        """A validator that proves that a later part has the same bytes: not a weak ETag (RFC 9110 13.1.5)."""
        return self.etag if self.etag and not self.etag.startswith("W/") else self.last_modified

    @property
    def modified(self) -> datetime | None:
        try:
            return parsedate_to_datetime(self.last_modified) if self.last_modified else None
        except ValueError:
            return None


@dataclass(frozen=True)
class _Download:
    outbound: OutboundClient
    folder: Path
    url: str
    clock_now: Callable[[], datetime]
    report: ReportFetchProgress
    limits: FetchLimits

    @property
    def _partial(self) -> Path:
        return self.folder / ".partial"

    async def run(self) -> FetchedFile:
        """Retry until the file is complete, or four attempts in a row brought no data."""
        in_vain = 0
        while True:
            before = self._came()
            try:
                return await self._try()
            except (_Retry, OutboundFailure) as error:
                if isinstance(error, TargetNotAllowed):
                    raise FetchRefused(f"{self.url} is not fetched: {_sentence(error)}") from error
                in_vain = 0 if self._came() > before else in_vain + 1
                if in_vain == _TRIES_IN_VAIN:
                    stored = f" {self._came()} bytes are kept, and the next try goes on from there." * bool(
                        self._came()
                    )
                    raise FetchInterrupted(f"{self.url} could not be fetched: {_sentence(error)}{stored}") from error
                await asyncio.sleep(self.limits.first_retry_delay_seconds * 2**in_vain)

    def _came(self) -> int:
        return self._partial.stat().st_size if self._partial.exists() else 0

    async def _try(self) -> FetchedFile:
        started = self._started()
        known = self._stored_file()
        headers = {"Accept": "*/*"}
        if started is not None and started.validator and self._came():
            headers |= {"Range": f"bytes={self._came()}-", "If-Range": started.validator}
        elif known is not None:
            headers |= {"If-None-Match": known.etag} if known.etag else {}
            if not known.etag and (modified := self._stored_headers().get("last_modified")):
                headers["If-Modified-Since"] = str(modified)
        at = self.url
        for _ in range(_MOST_HOPS + 1):
            async with self.outbound.stream(at, headers, connection_owner=_OWNER) as answer:
                if answer.status not in _REDIRECTS:
                    return await self._store_download(answer, started if "Range" in headers else None, known)
                at = self._next(at, answer)
        raise FetchRefused(f"{self.url} is redirected more than {_MOST_HOPS} times")

    def _next(self, at: str, answer: StreamedResponse) -> str:
        to = urljoin(at, answer.headers.get("Location", ""))
        try:
            if (
                parse_target(to, self.outbound.policy).is_loopback
                and not parse_target(self.url, self.outbound.policy).is_loopback
            ):
                raise AddressRefused("must have a public address")
        except AddressRefused as error:
            raise FetchRefused(f"{self.url} is redirected to an address that {error.reason}") from error
        return to

    async def _store_download(
        self, answer: StreamedResponse, started: _Version | None, known: FetchedFile | None
    ) -> FetchedFile:
        match answer.status:
            case 304 if known is not None:
                return known
            case 200:
                total = remote_files.parse_content_length(answer.headers)
                return await self._write(answer, _Version.of(self.url, answer.headers, total), 0)
            case 206 if started is not None:
                start, total = remote_files.parse_content_range(answer.headers)
                if start == self._came() and total == started.total and self._same(started, answer):
                    return await self._write(answer, started, start)
                self._partial.unlink()
                raise _Retry("The server continued another version of the file")
            case 416 if started is not None:
                self._partial.unlink()
                raise _Retry("The server has no such part of the file")
            case status if status >= 500 or status in (408, 425, 429):
                raise _Retry(f"The server answers with status {status}")
            case status:
                raise FetchRefused(f"{self.url} could not be fetched: the server answers with status {status}")

    @staticmethod
    def _same(started: _Version, answer: StreamedResponse) -> bool:
        etag = answer.headers.get("ETag")
        return etag is None or etag == started.etag

    async def _write(self, answer: StreamedResponse, version: _Version, start: int) -> FetchedFile:
        self._fits(version.total, start)
        _save(self.folder / ".partial.json", asdict(version))
        came, most = start, min(version.total or self.limits.max_bytes, self.limits.max_bytes)
        with self._partial.open("r+b" if start else "wb") as file:
            file.seek(start)
            async for chunk in answer.chunks:
                came += len(chunk)
                if came > most:
                    raise FetchRefused(f"{self.url} sends more than the {most} bytes it may")
                await asyncio.to_thread(file.write, chunk)
                self.report(FetchProgress(version.name, came, version.total))
        if version.total is not None and came < version.total:
            raise _Retry(f"The connection ended after {came} of {version.total} bytes")
        return await asyncio.to_thread(self._finish, version)

    def _fits(self, total: int | None, start: int) -> None:
        if total is not None and total > self.limits.max_bytes:
            raise FetchRefused(f"{self.url} has {total} bytes; at most {self.limits.max_bytes} are fetched")
        disk = os.statvfs(self.folder)
        free = disk.f_bavail * disk.f_frsize
        if total is not None and total - start > free:
            raise FetchRefused(f"{self.url} has {total} bytes, and {self.folder} has room for {free} more")

    def _finish(self, version: _Version) -> FetchedFile:
        """Check the download and rename it. Raises FetchRefused."""
        if (fault := remote_files.find_content_problem(self._partial)) is not None:
            self._partial.unlink()
            raise FetchRefused(f"{self.url} {fault}")
        with self._partial.open("rb+") as file:
            digest = file_digest(file, "sha256").digest()
            os.fsync(file.fileno())
        path = self.folder / remote_files.add_file_suffix(version.name, self._partial)
        for older in self.folder.iterdir():
            if not older.name.startswith("."):
                older.unlink()
        size, retrieved = self._came(), self.clock_now()
        self._partial.rename(path)
        if version.modified is not None:
            os.utime(path, (version.modified.timestamp(),) * 2)  # the publication date, if the name has none
        stated = asdict(version) | {"name": path.name, "retrieved_at": retrieved.isoformat(), "sha256": digest.hex()}
        _save(self.folder / ".fetched.json", stated | {"url": self.url, "bytes": size})
        (self.folder / ".partial.json").unlink()
        return FetchedFile(self.url, path, size, digest, version.etag, version.modified, retrieved, changed=True)

    def _started(self) -> _Version | None:
        stated = _load(self.folder / ".partial.json")
        return _Version(**stated) if stated and self._partial.exists() else None  # type: ignore[arg-type]

    def _stored_headers(self) -> dict[str, object]:
        return _load(self.folder / ".fetched.json")

    def _stored_file(self) -> FetchedFile | None:
        """The complete file of an earlier download, if unchanged."""
        stated = self._stored_headers()
        path = self.folder / str(stated.get("name"))
        if not stated or not path.is_file() or path.stat().st_size != stated["bytes"]:
            return None
        version = _Version(path.name, *(stated[key] for key in ("etag", "last_modified", "total")))  # type: ignore[arg-type]
        if version.etag is None and version.last_modified is None:
            return None
        retrieved, digest = datetime.fromisoformat(str(stated["retrieved_at"])), bytes.fromhex(str(stated["sha256"]))
        size = path.stat().st_size
        return FetchedFile(self.url, path, size, digest, version.etag, version.modified, retrieved, changed=False)


def _save(file: Path, content: Mapping[str, object]) -> None:
    unfinished = file.with_suffix(".unfinished")
    unfinished.write_text(json.dumps(content))
    unfinished.replace(file)


def _load(file: Path) -> dict[str, object]:
    try:
        stated = json.loads(file.read_text())
    except (OSError, ValueError):
        return {}
    return stated if isinstance(stated, dict) else {}


def _sentence(error: Exception) -> str:
    return f"{str(error)[:1].lower()}{str(error)[1:]}."
