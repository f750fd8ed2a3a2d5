"""Documents: taken in with a request, kept sealed, downloaded by links that live five minutes (U1, U3, U4, U6, U7)."""

import asyncio
from hashlib import sha256
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, urlencode, urlsplit

import httpx
import pytest

from tests.support import hostile_pdfs
from tests.support.client import Client, data
from tests.support.hostile_files import HONEST, JPEG, PDF, picture
from tests.support.service import Service
from tests.support.validation import requested, simulate

LIMIT = 5_242_880


async def hand_in(api: Client, record: dict[str, Any], content: bytes = HONEST[PDF], kind: str = PDF) -> httpx.Response:
    """Upload one document."""
    return await api.upload(f"/v1/validation-requests/{record['id']}/document", "file", "../../etc/x", content, kind)


def code(answer: httpx.Response) -> tuple[int, str]:
    """What is wrong."""
    return answer.status_code, answer.json()["error"]["code"]


async def followed(anonymous: Client, url: str, **changed: str) -> httpx.Response:
    """The answer to a link, some of its query changed."""
    parts = urlsplit(url)
    query = {**dict(parse_qsl(parts.query)), **changed}
    return await anonymous.get(f"{parts.path}?{urlencode(query)}")


def blobs(service: Service) -> list[Path]:
    """The files that the storage has."""
    assert service.services.settings.documents_url is not None
    return [file for file in Path(service.services.settings.documents_url).glob("??/*") if file.is_file()]


async def rows(service: Service, sql: str, *args: object) -> list[Any]:
    """Look behind the service."""
    async with service.db.read() as tx:
        return await tx.fetch(sql, *args)


async def test_u6_a_document_is_downloaded_as_a_file_by_its_link(
    service: Service, api: Client, anonymous: Client
) -> None:
    made = await requested(api)
    answer = data(await hand_in(api, made))
    (shown,) = answer["documents"]
    assert set(shown) == {"id", "validationRequestId", "status", "url", "createdAt", "deletedAt"}
    assert service.db.deployment.ids.decode("validationrequestdocument", shown["id"])
    assert data(await api.get(f"/v1/validation-requests/{made['id']}"))["documents"][0]["id"] == shown["id"]
    got = await anonymous.get(shown["url"])
    assert (got.status_code, got.content) == (200, HONEST[PDF])
    assert got.headers["content-disposition"] == f'attachment; filename="{shown["id"]}.pdf"'
    assert got.headers["content-type"] == PDF
    assert got.headers["x-content-type-options"] == "nosniff"
    assert got.headers["cache-control"] == "no-store"
    assert "sandbox" in got.headers["content-security-policy"]


@pytest.mark.usefixtures("standing_time")
async def test_u6_a_link_lives_five_minutes_of_real_time(service: Service, api: Client, anonymous: Client) -> None:
    made = await requested(api)
    url = data(await hand_in(api, made))["documents"][0]["url"]
    service.clock.advance(days=1)
    assert (await anonymous.get(url)).status_code == 200
    service.clock.advance_wall(seconds=295)
    assert (await anonymous.get(url)).status_code == 200
    service.clock.advance_wall(seconds=6)
    assert code(await anonymous.get(url)) == (403, "forbidden")
    again = data(await api.get(f"/v1/validation-requests/{made['id']}"))["documents"][0]["url"]
    assert (await anonymous.get(again)).status_code == 200


async def test_u6_a_link_opens_one_document_and_says_until_when(api: Client, anonymous: Client) -> None:
    made = await requested(api)
    await hand_in(api, made)
    one, two = (each["url"] for each in data(await hand_in(api, made, picture(), JPEG))["documents"])
    later = str(int(dict(parse_qsl(urlsplit(one).query))["expires"]) + 1)
    signature = dict(parse_qsl(urlsplit(two).query))["signature"]
    for changed in (
        {"signature": signature},
        {"expires": later},
        {"expires": ""},
        {"expires": "9" * 30},
        {"expires": "-1"},
        {"signature": ""},
        {"signature": "\u00e9"},
    ):
        assert code(await followed(anonymous, one, **changed)) == (403, "forbidden")


@pytest.mark.parametrize("name", ["%2e%2e%2f%2e%2e%2fetc%2fpasswd", "x", "", "validationrequestdocument_x", "a/b"])
async def test_u4_a_path_leads_nowhere(anonymous: Client, name: str) -> None:
    assert code(await anonymous.get(f"/documents/{name}?expires=1&signature=x"))[0] == 404


async def test_u3_u4_what_is_kept_is_sealed_under_a_random_key(
    service: Service, api: Client, anonymous: Client
) -> None:
    before = set(blobs(service))
    content = picture(size=(300, 200), exif=b"Exif\x00\x00taken at 1 Home Street")
    url = data(await hand_in(api, await requested(api), content, JPEG))["documents"][0]["url"]
    stored = (await anonymous.get(url)).content
    assert b"Home Street" not in stored
    (file,) = set(blobs(service)) - before
    assert stored[20:60] not in file.read_bytes()
    (row,) = await rows(service, "select * from document where storage_key = $1", file.name)
    assert (row["sha256"], row["size_bytes"]) == (sha256(stored).digest(), len(stored))
    file.write_bytes(file.read_bytes()[:-1])
    assert (await anonymous.get(url)).status_code == 500  # never a part of it


async def test_u1_the_largest_file_passes_and_one_byte_more_does_not(api: Client) -> None:
    made = await requested(api)
    content = hostile_pdfs.pdf(hostile_pdfs.stream(b"x" * (LIMIT - 1000)))
    content = hostile_pdfs.pdf(hostile_pdfs.stream(b"x" * (LIMIT - 1000 + LIMIT - len(content))))
    assert len(content) == LIMIT
    assert len(data(await hand_in(api, made, content))["documents"]) == 1
    assert code(await hand_in(api, made, content + b"\n")) == (400, "upload/max_file_size")
    assert code(await hand_in(api, made, content + b"\n" * 70_000)) == (413, "content_too_large")


async def test_u1_reading_ends_with_the_first_byte_that_is_too_much(api: Client) -> None:
    made, sent = await requested(api), 0

    async def endless() -> Any:
        nonlocal sent
        yield b'--x\r\nContent-Disposition: form-data; name="file"; filename="a"\r\nContent-Type: image/png\r\n\r\n'
        while sent < 3 * LIMIT:
            sent += 65_536
            yield b"x" * 65_536

    path, headers = (
        f"/v1/validation-requests/{made['id']}/document",
        {"Content-Type": "multipart/form-data; boundary=x"},
    )
    assert code(await api.request("POST", path, content=endless(), headers=headers)) == (400, "upload/max_file_size")


@pytest.mark.parametrize(
    ("content", "kind", "expected"),
    [
        (HONEST[PDF] + b"PK\x03\x04", PDF, "upload/filetype_not_supported"),
        (b"GIF89a", "image/gif", "upload/filetype_not_supported"),
        (b"", PDF, "upload/file_is_missing"),
    ],
)
async def test_u2_other_files_are_refused(
    service: Service, api: Client, content: bytes, kind: str, expected: str
) -> None:
    before = len(blobs(service))
    assert code(await hand_in(api, await requested(api), content, kind)) == (400, expected)
    assert len(blobs(service)) == before


async def test_u3_a_pdf_that_acts_is_flagged(service: Service, api: Client) -> None:
    (_, content), *_ = hostile_pdfs.active()
    shown = data(await hand_in(api, await requested(api), content))["documents"][0]
    document_id = service.db.deployment.ids.decode("validationrequestdocument", shown["id"])
    (row,) = await rows(service, "select flags from document where id = $1", document_id)
    assert row["flags"] == ["pdf_active", "pdf_javascript"]


async def test_u7_a_record_has_at_most_twenty_documents_that_are_not_deleted(service: Service, api: Client) -> None:
    made = await requested(api)
    for _ in range(20):
        assert (await hand_in(api, made)).status_code == 200
    before = len(blobs(service))
    answer = await hand_in(api, made)
    assert code(answer) == (400, "upload/too_many_files")
    assert len(blobs(service)) == before  # what was stored for it is gone again
    await simulate(api, made, "reject", rejectionReasonCode="other")
    service.clock.advance(days=366)
    await service.drain()
    documents = data(await hand_in(api, made))["documents"]
    assert [one["deletedAt"] is None for one in documents] == [False] * 20 + [True], "those of a year ago take no room"


async def test_u7_an_account_has_a_gigabyte_a_day(service: Service, api: Client) -> None:
    made = await requested(api)
    await hand_in(api, made)
    async with service.db.write() as tx:
        await tx.execute(
            """
            insert into document (id, partner_id, media_type, size_bytes, sha256, storage_key, flags, status,
                                  status_changed_at, created_at, next_check_at)
            select gen_random_uuid(), partner_id, media_type, 1073741000, sha256, lpad(md5(partner_id::text), 34, '0'),
                   flags, status, created_at, created_at, next_check_at
            from document where partner_id = (select partner_id from validation_request where id = $1)
            """,
            service.db.deployment.ids.decode("validationrequest", made["id"]),
        )
    answer = await hand_in(api, made)
    assert code(answer) == (429, "rate_exceeded")
    assert answer.headers["retry-after"] == "3600"
    service.clock.advance(hours=25)
    assert (await hand_in(api, made)).status_code == 200


async def test_an_upload_to_nothing_leaves_nothing(service: Service, api: Client) -> None:
    nothing = {"id": service.db.deployment.ids.encode("validationrequest", (await a_uuid(service)))}
    before = len(blobs(service))
    assert code(await hand_in(api, nothing)) == (404, "not_found")
    assert len(blobs(service)) == before


async def a_uuid(service: Service) -> Any:
    """One that names nothing."""
    async with service.db.read() as tx:
        return tx.new_id()


async def test_i_the_same_upload_with_the_same_key_is_answered_once(service: Service, api: Client) -> None:
    made = await requested(api)
    path, headers = f"/v1/validation-requests/{made['id']}/document", {"Idempotency-Key": "one"}

    async def send(content: bytes) -> httpx.Response:
        return await api.request("POST", path, files={"file": ("a", content, PDF)}, headers=headers)

    before = len(blobs(service))
    answers = await asyncio.gather(*(send(HONEST[PDF]) for _ in range(4)))
    first = next(answer for answer in answers if answer.status_code == 200)
    running = [answer for answer in answers if answer.status_code != 200]
    assert {code(answer) for answer in running} <= {(400, "idempotency/original_call_in_progress")}
    again = await send(HONEST[PDF])
    assert (again.content, again.headers["idempotent-replayed"]) == (first.content, "true")
    assert code(await send(hostile_pdfs.plain(3))) == (400, "idempotency/same_key_different_data")
    assert len(blobs(service)) == before + 1
    assert len(data(await api.get(f"/v1/validation-requests/{made['id']}"))["documents"]) == 1
    assert await rows(service, "select from provider_call_lease where flow = 'uploads'") == []


async def test_i_a_refused_upload_leaves_its_key_free(api: Client) -> None:
    made = await requested(api)
    path, headers = f"/v1/validation-requests/{made['id']}/document", {"Idempotency-Key": "two"}
    bad = await api.request("POST", path, files={"file": ("a", b"%PDF-1.7", PDF)}, headers=headers)
    assert code(bad) == (400, "upload/filetype_not_supported")
    good = await api.request("POST", path, files={"file": ("a", HONEST[PDF], PDF)}, headers=headers)
    assert good.status_code == 200
