"""The evidence of a validation request, signed, as JSON and as a document (settled 8)."""

import json
import subprocess
import sys
from io import BytesIO
from pathlib import Path

import pytest
from pypdf import PdfReader

from almoner.validation.decisions.reviews.domain import ReviewDecision
from almoner.validation.requests import service as validation_requests
from tests.support.client import Client, data
from tests.support.hostile_files import picture
from tests.support.service import Service, Tenant
from tests.support.validation import UNHEARD_OF

PATH = "/v1/validation-requests"
SCRIPT = Path(__file__).parents[2] / "docs" / "verify_document.py"
BODY = {
    "name": "Casper Relief Fund",
    "registryName": "IRS",
    "registryId": "85-0196605",
    "website": "https://example.org",
    "countryCode": "USA",
}
PDF = {"Accept": "application/pdf"}


async def _made(service: Service, api: Client, **changed: str) -> str:
    made = data(await api.post(PATH, {**BODY, **changed}))
    await service.drain()
    return f"{PATH}/{made['id']}/dossier"


async def _public_key(api: Client) -> str:
    [key] = (await api.get("/.well-known/almoner-keys")).json()["keys"]
    assert (key["purpose"], key["algorithm"]) == ("dossiers", "Ed25519")
    return str(key["publicKey"])


def _verdict(file: Path, key: str) -> tuple[int, str]:
    done = subprocess.run(
        [sys.executable, "-I", str(SCRIPT), str(file), key], capture_output=True, text=True, check=False
    )
    return done.returncode, done.stdout + done.stderr


async def test_a_dossier_holds_every_step_with_what_it_saw(service: Service, api: Client) -> None:
    address = await _made(service, api, **UNHEARD_OF)
    answer = await api.get(address)
    assert answer.json()["object"] == "validation_request_dossier"
    reported = data(answer)
    shown = data(await api.get(address.removesuffix("/dossier")))
    assert shown.pop("documents") == []
    assert reported["validationRequest"] == shown
    [evaluation] = reported["evaluations"]
    assert evaluation["outcome"] == "review"
    assert [reason["code"] for reason in evaluation["reasons"]] == ["register_not_loaded"]
    assert all(reason["message"].endswith(".") for reason in evaluation["reasons"])
    steps = {step["name"]: step for step in evaluation["steps"]}
    assert steps["identifier"]["verdict"] == "pass"
    assert steps["register"]["verdict"] == "unknown"
    assert steps["identifier"]["facts"]["given"] == UNHEARD_OF["registryId"]
    [review] = reported["reviews"]
    assert (review["status"], review["endedAt"]) == ("open", None)
    assert (reported["decisions"], reported["documents"]) == ([], [])
    assert reported["notScreenedReason"] is None


async def test_a_decision_is_in_it_with_who_when_and_why(service: Service, api: Client) -> None:
    reported = data(await api.get(await _made(service, api, name="test_reject_not_eligible")))
    [decision] = reported["decisions"]
    assert (decision["verdict"], decision["reasonCode"], decision["decidedBy"]) == (
        "rejected",
        "not_eligible",
        "sandbox",
    )
    assert decision["note"]
    assert decision["decidedAt"] == reported["validationRequest"]["rejectedAt"]


async def test_what_a_person_noted_is_not_for_the_partner_and_the_reason_is(
    service: Service, tenant: Tenant, api: Client
) -> None:
    address = await _made(service, api, **UNHEARD_OF)
    request_id = service.db.deployment.ids.decode("validationrequest", address.split("/")[3])
    assert request_id is not None
    async with service.db.write() as tx:
        noted = ReviewDecision("rejected", "not_eligible", "operator_olive", "By telephone with Mrs Example, case 7")
        await validation_requests.reject(tx, tenant.partner, request_id, noted)
    [decision] = data(await api.get(address))["decisions"]
    assert (decision["reasonCode"], decision["decidedBy"], decision["note"]) == ("not_eligible", "operator_olive", None)
    printed = PdfReader(BytesIO((await api.get(address, headers=PDF)).content))
    text = " ".join("\n".join(page.extract_text() for page in printed.pages).split())
    assert "not_eligible" in text
    assert "note is kept by the service provider" in text
    assert "Example" not in text


async def test_a_document_is_named_by_its_hash_and_no_link_is_in_it(service: Service, api: Client) -> None:
    address = await _made(service, api, **UNHEARD_OF)
    sent = await api.upload(address.replace("/dossier", "/document"), "file", "letter.png", picture("PNG"), "image/png")
    request = data(sent)
    answer = await api.get(address)
    reported = data(answer)
    [document], [attached] = reported["documents"], request["documents"]
    assert document["id"] == attached["id"]
    assert (document["mediaType"], len(document["sha256"]), document["deletedAt"]) == ("image/png", 64, None)
    assert document["size"] > 0
    assert "documents" not in reported["validationRequest"]
    assert b"signature=" not in answer.content
    assert b"/documents/" not in answer.content
    printed = await api.get(address, headers=PDF)
    text = " ".join("\n".join(page.extract_text() for page in PdfReader(BytesIO(printed.content)).pages).split())
    assert f"scan: {document['scanStatus']}" in text


@pytest.mark.parametrize("headers", [{}, PDF], ids=["json", "pdf"])
async def test_anybody_can_check_it_offline(
    service: Service, api: Client, tmp_path: Path, headers: dict[str, str]
) -> None:
    document = (await api.get(await _made(service, api), headers=headers)).content
    key = await _public_key(api)
    file = tmp_path / "dossier"
    file.write_bytes(document)
    assert _verdict(file, key)[0] == 0
    for place in range(0, len(document), len(document) // 12):
        file.write_bytes(document[:place] + bytes([document[place] ^ 0x20]) + document[place + 1 :])
        code, stated = _verdict(file, key)
        assert (code, stated[:11]) == (1, "NOT GENUINE"), place
    file.write_bytes(document)
    assert _verdict(file, "ab" * 32)[0] == 1


@pytest.mark.parametrize("digits", ["ab" * 64, "0" * 128])
async def test_a_seal_in_the_partners_words_is_words(
    service: Service, api: Client, tmp_path: Path, digits: str
) -> None:
    [key] = (await api.get("/.well-known/almoner-keys")).json()["keys"]
    name = f"almoner-ed25519:{key['id']}:{digits}"
    address = await _made(service, api, name=name)
    for headers in ({}, PDF):
        answer = await api.get(address, headers=headers)
        file = tmp_path / "dossier"
        file.write_bytes(answer.content)
        assert _verdict(file, key["publicKey"])[0] == 0
        if not headers:
            assert data(answer)["validationRequest"]["name"] == name


async def test_the_document_is_tagged_and_tells_the_same(service: Service, api: Client) -> None:
    address = await _made(service, api, name="Société de Secours & <Frères> جمعية")
    answer = await api.get(address, headers=PDF)
    assert answer.headers["content-type"] == "application/pdf"
    name = address.split("/")[3]
    assert answer.headers["content-disposition"] == f'attachment; filename="dossier-{name}.pdf"'
    assert "content-disposition" not in (await api.get(address)).headers
    document = PdfReader(BytesIO(answer.content))
    root = document.root_object
    assert root.get("/MarkInfo") == {"/Marked": True}, "poppler warns of the default, written out"
    assert root.get("/Lang") == "en-GB"
    assert b"pdfuaid" in answer.content
    text = "\n".join(page.extract_text() for page in document.pages)
    for stated in ("Société de Secours & <Frères>", "85-0196605", "Register lookup", "unknown"):
        assert stated in text, stated
    assert "a person looks it up" in " ".join(text.split())
    assert data(await api.get(address))["notScreenedReason"] == "script_uncertain"


@pytest.mark.parametrize(
    ("name", "shown", "numbered"),
    [
        ("ปกครอง", "ปกครอง", False),
        ("마르타 재단", "마르타 재단", False),
        ("Martha \U0001f600 Fund", "[U+1F600]", True),
        ("Société Марфа جمعية", "Марфа", False),
    ],
    ids=["Thai", "Korean", "emoji", "with a font"],
)
async def test_the_document_says_where_a_character_is_shown_by_its_number(
    service: Service, api: Client, name: str, shown: str, numbered: bool
) -> None:
    address = await _made(service, api, name=name)
    answer = await api.get(address, headers=PDF)
    text = " ".join("\n".join(page.extract_text() for page in PdfReader(BytesIO(answer.content)).pages).split())
    assert shown.lower() in text.lower()
    assert ("by their numbers in Unicode. The JSON version of this dossier" in text) == numbered
    assert data(await api.get(address))["validationRequest"]["name"] == name


async def test_what_is_copied_from_the_document_is_what_was_written(service: Service, api: Client) -> None:
    """A long word may be broken behind any sign; that sign stays what it is everywhere else."""
    for sign in "0126-":
        address = await _made(service, api, name=f"Fund {'x' * 43}{sign}abc")
        answer = await api.get(address, headers=PDF)
        text = "\n".join(page.extract_text() for page in PdfReader(BytesIO(answer.content)).pages)
        assert "85-0196605" in text, sign
        assert "\u200b" not in text, sign


async def test_the_form_is_chosen_by_accept(service: Service, api: Client) -> None:
    address = await _made(service, api)
    for accept in ("*/*", "application/json", "application/pdf;q=0.5, application/json"):
        answer = await api.get(address, headers={"Accept": accept})
        assert json.loads(answer.content)["object"] == "validation_request_dossier"
    refused = await api.get(address, headers={"Accept": "text/csv"})
    assert (refused.status_code, refused.json()["error"]["code"]) == (406, "not_acceptable")


async def test_nobody_else_is_shown_it(service: Service, api: Client, other: Client) -> None:
    address = await _made(service, api)
    assert (await other.get(address)).status_code == 404
    assert (await other.get(address, headers=PDF)).status_code == 404
