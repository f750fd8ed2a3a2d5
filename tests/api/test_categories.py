"""Categories (spec 2.9, 4.2; settled 1, 4, 8)."""

import asyncio
import re
from io import BytesIO
from typing import Any

import pytest
from PIL import Image

from tests.support.client import Client, data

LARGEST = 2**53 - 1


async def made(api: Client, name: str = "Water", **members: Any) -> dict[str, Any]:
    """A new category."""
    record: dict[str, Any] = data(await api.post("/v1/categories", {"name": name, **members}))
    return record


async def test_a_category_is_answered_as_it_was_made(api: Client) -> None:
    answer = await api.post(
        "/v1/categories", {"name": "  Water  ", "attributes": {"a": "b", "c": 1, "d": True, "e": 1.5}}
    )
    assert answer.status_code == 200
    body = answer.json()
    assert body["object"] == "Category"
    assert set(body["data"]) == {"id", "name", "attributes", "imageUrl", "createdAt"}
    assert body["data"]["name"] == "Water"
    assert body["data"]["attributes"] == {"a": "b", "c": 1, "d": True, "e": 1.5}
    assert body["data"]["imageUrl"] is None
    assert data(await api.get(f"/v1/categories/{body['data']['id']}")) == body["data"]


async def test_names_are_unique_per_partner(api: Client, other: Client) -> None:
    first = await made(api)
    taken = await api.post("/v1/categories", {"name": "Water"})
    assert (taken.status_code, taken.json()["error"]["code"]) == (400, "category/name_taken")
    assert (await made(other))["id"] != first["id"]
    second = await made(api, "Soil")
    taken = await api.patch(f"/v1/categories/{second['id']}", {"name": "Water"})
    assert (taken.status_code, taken.json()["error"]["code"]) == (400, "category/name_taken")


async def test_a_name_is_taken_once_however_many_ask(api: Client) -> None:
    answers = await asyncio.gather(*(api.post("/v1/categories", {"name": "Race"}) for _ in range(16)))
    assert sorted(answer.status_code for answer in answers) == [200] + [400] * 15


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        ({}, "body.name is required"),
        ({"name": ""}, "body.name must be at least 1 character"),
        ({"name": "   "}, "body.name must be at least 1 character"),
        ({"name": "x" * 256}, "body.name must be at most 255 characters"),
        ({"name": 7}, "body.name must be a string"),
        ({"name": None}, "body.name must be a string"),
        ({"name": "n", "attributes": []}, "body.attributes must be an object"),
        ({"name": "n", "attributes": {"k": []}}, "body.attributes.k must be a string or true or false"),
        ({"name": "n", "attributes": {"k": LARGEST + 1}}, "body.attributes.k"),
        ({"name": "n", "attributes": {"k" * 41: 1}}, "must have 1 to 40 characters"),
        ({"name": "n", "attributes": {"k": "v" * 251}}, "body.attributes.k must be at most 250 characters"),
        ({"name": "n", "attributes": {str(n): n for n in range(21)}}, "at most 20 keys"),
        ({"name": "a\x00b"}, "body.name must not hold NUL characters"),
    ],
)
async def test_bad_input_is_named(api: Client, body: dict[str, Any], reason: str) -> None:
    answer = await api.post("/v1/categories", body)
    assert answer.status_code == 400
    assert answer.json()["error"]["code"] == "bad_request"
    assert any(reason in reported for reported in answer.json()["error"]["reasons"]), answer.text


async def test_all_problems_are_told_at_once(api: Client) -> None:
    answer = await api.post("/v1/categories", {"attributes": {"a": None, "b": {}}})
    reasons = answer.json()["error"]["reasons"]
    assert [reason.split()[0] for reason in reasons] == ["body.name", "body.attributes.a", "body.attributes.b"]


async def test_a_patch_changes_what_it_names(api: Client) -> None:
    category = await made(api, attributes={"a": 1, "b": 2})
    path = f"/v1/categories/{category['id']}"
    assert data(await api.patch(path, {"name": "Sea"})) == {**category, "name": "Sea"}
    # The whole object is replaced, not merged (settled 4).
    assert data(await api.patch(path, {"attributes": {"c": 3}}))["attributes"] == {"c": 3}
    assert data(await api.patch(path, {"attributes": None}))["attributes"] is None
    assert data(await api.patch(path, {}))["name"] == "Sea"
    refused = await api.patch(path, {"name": None})
    assert refused.json()["error"]["reasons"] == ["body.name must be a string"]


async def test_a_deleted_category_is_gone(api: Client) -> None:
    category = await made(api)
    path = f"/v1/categories/{category['id']}"
    gone = await api.delete(path)
    assert (gone.status_code, gone.content) == (204, b"")
    assert [(await call).status_code for call in (api.get(path), api.delete(path), api.patch(path, {}))] == [404] * 3
    assert (await made(api))["id"] != category["id"]


async def test_lists_walk_both_ways(api: Client) -> None:
    names = [f"c{number}" for number in range(7)]
    for name in names:
        await made(api, name)
    for direction, expected in (("ASC", names), ("DESC", names[::-1])):
        page = (await api.get("/v1/categories", pageSize="3", direction=direction)).json()
        assert page["_links"]["prev"] is None
        seen = []
        while True:
            assert (page["totalResults"], page["pageSize"]) == (7, 3)
            seen += [row["name"] for row in page["data"]]
            if page["_links"]["next"] is None:
                break
            page = (await api.get(page["_links"]["next"])).json()
        assert seen == expected
        back = [row["name"] for row in page["data"]]
        while page["_links"]["prev"] is not None:
            page = (await api.get(page["_links"]["prev"])).json()
            back = [row["name"] for row in page["data"]] + back
        assert back == expected
        assert len(page["data"]) == 3


async def test_p2_a_walk_survives_inserts_and_deletes(api: Client) -> None:
    stored = [(await made(api, f"k{number}"))["id"] for number in range(6)]
    page = (await api.get("/v1/categories", pageSize="2", direction="ASC")).json()
    seen = [row["id"] for row in page["data"]]
    # The anchor of the next page goes away, and a new row comes: what stayed is seen exactly once (P5).
    await api.delete(f"/v1/categories/{stored[1]}")
    await made(api, "later")
    while page["_links"]["next"] is not None:
        page = (await api.get(page["_links"]["next"])).json()
        seen += [row["id"] for row in page["data"]]
    assert seen[:6] == stored
    assert len(seen) == 7


async def test_p5_cursors_stay_with_their_partner_and_list(api: Client, other: Client) -> None:
    for number in range(3):
        await made(api, f"c{number}")
    link = (await api.get("/v1/categories", pageSize="1")).json()["_links"]["next"]
    assert (await api.get(link)).status_code == 200
    for refused in (
        await other.get(link),
        await api.get(link.replace("pageSize", "direction=ASC&pageSize")),
        await api.get(link[:-1] + ("A" if link[-1] != "A" else "B")),
        await api.get("/v1/categories", cursor="nonsense"),
        await api.get("/v1/categories", cursor=""),
    ):
        assert (refused.status_code, refused.json()["error"]["code"]) == (400, "pagination/cursor_error")


@pytest.mark.parametrize(("size", "shown"), [("1", 1), ("100", 100), ("101", 100), ("999999999", 100), ("007", 7)])
async def test_p6_page_size_is_capped(api: Client, size: str, shown: int) -> None:
    assert (await api.get("/v1/categories", pageSize=size)).json()["pageSize"] == shown


@pytest.mark.parametrize("size", ["0", "-1", "1.5", "", "ten", "١٠", "1e1"])
async def test_p6_other_page_sizes_are_refused(api: Client, size: str) -> None:
    answer = await api.get("/v1/categories", pageSize=size)
    assert answer.json()["error"]["reasons"] == ["query.pageSize must be a positive integer"]


async def test_publishable_keys_read_and_do_not_write(api: Client, publishable: Client) -> None:
    category = await made(api)
    assert data(await publishable.get("/v1/categories")) == [category]
    assert (await publishable.post("/v1/categories", {"name": "x"})).status_code == 403


def picture(mode: str = "RGB", size: tuple[int, int] = (2000, 500), kind: str = "JPEG") -> bytes:
    """An image file."""
    written = BytesIO()
    Image.new(mode, size, "red").save(written, kind, **({"exif": b"Exif\x00\x00secret"} if kind == "JPEG" else {}))
    return written.getvalue()


async def test_an_image_is_written_anew_and_shown(api: Client, anonymous: Client) -> None:
    path = f"/v1/categories/{(await made(api))['id']}"
    answer = await api.upload(f"{path}/image", "image", "../../x.jpg", picture(), "image/jpeg")
    assert (answer.status_code, answer.content) == (200, b"")
    shown = await anonymous.get(data(await api.get(path))["imageUrl"])
    assert shown.headers["content-type"] == "image/jpeg"
    assert b"secret" not in shown.content
    assert max(Image.open(BytesIO(shown.content)).size) == 1024
    first = data(await api.get(path))["imageUrl"]
    await api.upload(f"{path}/image", "image", "x.png", picture("RGBA", (9, 9), "PNG"), "image/png")
    assert data(await api.get(path))["imageUrl"] != first
    assert (await anonymous.get(first)).status_code == 404


@pytest.mark.parametrize(
    ("field", "content", "media_type", "code"),
    [
        ("image", b"not an image", "image/png", "upload/filetype_not_supported"),
        ("image", picture()[:200], "image/jpeg", "upload/filetype_not_supported"),
        ("image", picture() + b"<script>", "image/jpeg", "upload/filetype_not_supported"),
        ("image", b"GIF89a", "image/gif", "upload/filetype_not_supported"),
        ("image", b"", "image/png", "upload/file_is_missing"),
        ("file", picture(), "image/jpeg", "upload/file_is_missing"),
        ("image", b"x" * (5 * 1024 * 1024 + 1), "image/png", "upload/max_file_size"),
    ],
)
async def test_other_files_are_refused(api: Client, field: str, content: bytes, media_type: str, code: str) -> None:
    path = f"/v1/categories/{(await made(api))['id']}/image"
    answer = await api.upload(path, field, "x", content, media_type)
    assert (answer.status_code, answer.json()["error"]["code"]) == (400, code)
    if code == "upload/filetype_not_supported":
        assert re.search("jpeg|png|picture|damaged", answer.json()["error"]["reasons"][0].lower())


async def test_broken_multipart_bodies_have_their_codes(api: Client) -> None:
    path = f"/v1/categories/{(await made(api))['id']}/image"
    for content_type, code in (
        ("application/json", "upload/content_type_error"),
        ("multipart/form-data", "upload/multipart_boundary_not_found"),
        ("multipart/form-data; boundary=x", "upload/file_is_missing"),
    ):
        answer = await api.request("POST", path, content=b"{}", headers={"Content-Type": content_type})
        assert (answer.status_code, answer.json()["error"]["code"]) == (400, code)
    packed = {"Content-Type": "multipart/form-data; boundary=x", "Content-Encoding": "gzip"}
    answer = await api.request("POST", path, content=b"{}", headers=packed)
    assert answer.json()["error"]["code"] == "upload/content_type_error"
    assert answer.json()["error"]["reasons"] == ["header.Content-Encoding must be identity, not 'gzip'"]
    files = [("image", ("a", picture(), "image/jpeg")), ("image", ("b", picture(), "image/jpeg"))]
    answer = await api.request("POST", path, files=files)
    assert answer.json()["error"]["code"] == "upload/too_many_files"


@pytest.mark.parametrize("lost", ["--x--\r\n", "--\r\n", "-\r\n"])
async def test_a_multipart_body_without_its_end_may_be_cut_off(api: Client, lost: str) -> None:
    path = f"/v1/categories/{(await made(api))['id']}/image"
    part = b'--x\r\nContent-Disposition: form-data; name="image"; filename="a"\r\nContent-Type: image/jpeg\r\n\r\n'
    body = part + picture() + b"\r\n--x--\r\n"
    headers = {"Content-Type": "multipart/form-data; boundary=x"}
    answer = await api.request("POST", path, content=body.removesuffix(lost.encode()), headers=headers)
    assert (answer.status_code, answer.json()["error"]["code"]) == (400, "upload/file_is_missing")
    assert answer.json()["error"]["reasons"] == ["body is not a well-formed multipart/form-data body"]
    assert (await api.request("POST", path, content=body, headers=headers)).status_code == 200


async def test_a_body_far_over_the_limit_is_cut_off(api: Client) -> None:
    path = f"/v1/categories/{(await made(api))['id']}/image"
    answer = await api.upload(path, "image", "x", b"x" * (5 * 1024 * 1024 + 70_000), "image/png")
    assert (answer.status_code, answer.json()["error"]["code"]) == (413, "content_too_large")


@pytest.mark.parametrize(
    ("query", "reason"),
    [
        ("x=%ff", "query is not well-formed UTF-8 in percent encoding"),
        ("&".join(f"x{n}=" for n in range(201)), "query may have at most 200 parameters"),
    ],
)
async def test_a_query_that_is_not_read_is_told_why(api: Client, query: str, reason: str) -> None:
    answer = await api.request("GET", f"/v1/categories?{query}")
    assert (answer.status_code, answer.json()["error"]["reasons"]) == (400, [reason])
    most = "&".join(f"x{n}=" for n in range(200))
    reasons = (await api.request("GET", f"/v1/categories?{most}")).json()["error"]["reasons"]
    assert (len(reasons), reasons[-1]) == (101, "and 100 more problems")
