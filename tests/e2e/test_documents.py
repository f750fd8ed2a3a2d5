"""What the documents tell people to type, typed: README, quick start, and every example of the reference."""

import asyncio
import json
import re
import subprocess
import sys
import urllib.request
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from tests.support.eventually import eventually
from tests.support.running import Running
from tools.docs_site.reference_content import Operation, ReferenceContent

ROOT = Path(__file__).parents[2]
BLOCK = re.compile(r"```sh\n(.*?)```", re.DOTALL)


def typed(service: Running, lines: str) -> str:
    """What a shell prints that is given the lines in the folder above ``var``."""
    lines = lines.replace("http://localhost:8080", service.base_url)
    done = subprocess.run(
        ["sh", "-eu", "-c", lines],
        cwd=service.data_dir.parent,
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert done.returncode == 0, f"{lines}\n{done.stdout}\n{done.stderr}"
    return done.stdout + done.stderr


def succeeded(printed: str) -> bool:
    """Whether no answer was an error, and there were no complaints of the shell."""
    return '{"error":' not in printed


def test_the_gift_of_the_readme(sandbox: Running) -> None:
    lines = next(
        block for block in BLOCK.findall((ROOT / "README.md").read_text("utf-8")) if "/donation-sessions" in block
    )
    assert sum("curl" in line for line in lines.splitlines()) == 6
    printed = typed(sandbox, lines)
    assert succeeded(printed), printed
    assert '"RECEIVED_PAYMENT"' in printed


def test_the_quick_start(sandbox: Running) -> None:
    blocks = BLOCK.findall((ROOT / "docs" / "guides" / "quick-start.md").read_text("utf-8"))
    assert len(blocks) == 7
    printed = typed(sandbox, "\n".join(blocks))
    assert succeeded(printed), printed
    assert '"RECEIVED_PAYMENT"' in printed
    assert "MARTHA" in printed.upper()


def test_the_quick_start_in_python(sandbox: Running) -> None:
    text = (ROOT / "docs" / "guides" / "quick-start.md").read_text("utf-8")
    blocks = re.findall(r"```python\n(.*?)```", text, re.DOTALL)
    printed = ran(sandbox, "\n".join(blocks))
    assert "Send the donor to" in printed
    assert "RECEIVED_PAYMENT" in printed
    events = blocks[0] + blocks[-1]  # which the guide says to run again, if some are not there yet
    asyncio.run(eventually(lambda: "donation.payment_successful" in ran(sandbox, events)))


def ran(service: Running, program: str) -> str:
    """What a program in Python prints that has the client, in the folder above ``var``."""
    done = subprocess.run(
        [sys.executable, "-c", program],
        cwd=service.data_dir.parent,
        env={"PYTHONPATH": str(ROOT / "clients" / "python" / "src")},
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def in_order(operations: list[Operation]) -> list[Operation]:
    """Such that each finds what it needs: creations first, removals last, the innermost of those before the others."""
    places = {"POST": 1, "PUT": 2, "PATCH": 3, "GET": 4, "DELETE": 5}
    return sorted(
        operations,
        key=lambda one: (not one.id.startswith("create"), one.id != "simulate", places[one.method], -len(one.path)),
    )


def asked(service: Running, path: str, body: object = None) -> Any:
    """GET, or POST with a body."""
    headers = {"Authorization": service.secret_key, "Content-Type": "application/json"}
    raw = json.dumps(body).encode() if body else None
    with urllib.request.urlopen(urllib.request.Request(service.base_url + path, data=raw, headers=headers)) as answer:
        return json.load(answer)["data"]


def settle_one(service: Running) -> None:
    """Settle the newest gift that waits for it, so that there is a payout to read."""
    gifts = asked(service, "/v1/donations?pageSize=100&status=RECEIVED_PAYMENT")
    gift = next(gift for gift in gifts if gift["settledAt"] is None and gift["refundedAt"] is None)
    asked(service, "/v1/sandbox/simulate", {"id": gift["id"], "action": "settle"})
    asyncio.run(eventually(lambda: asked(service, "/v1/disbursements")))


def refuse_one(service: Running) -> None:
    """Have an application refused, so that there is one to appeal against."""
    about = {"organisationName": "test_reject_other", "registryName": "IRS", "registryId": "53-0196605"}
    who = {"firstName": "Ada", "lastName": "Example", "email": "ada@example.org", "language": "en"}
    body = {**about, **who, "website": "https://example.org", "countryCode": "USA"}
    made = asked(service, "/v1/validation-submissions", body)
    path = f"/v1/validation-submissions/{made['id']}"
    asyncio.run(eventually(lambda: asked(service, path)["status"] == "failed"))


def give_one(service: Running) -> str:
    """Make a direct donation: the newest gift, which its partner may still cancel."""
    (organisation,) = asked(service, "/v1/organisations?pageSize=1&countryCode=USA&active=true&direction=ASC")
    body = {"organisationId": organisation["id"], "amount": 1000, "currencyCode": "USD"}
    return str(asked(service, "/v1/donations", body)["id"])


def request_one(service: Running) -> None:
    """Have the partner asked for a direct donation."""
    asked(service, "/v1/sandbox/simulate", {"id": give_one(service), "action": "request"})


def receive_one(service: Running) -> None:
    """Make a direct donation that its partner has paid for: the newest gift, which can go back."""
    request_one(service)
    (request,) = asked(service, "/v1/donation-requests?pageSize=1")
    asked(service, "/v1/sandbox/simulate", {"id": request["id"], "action": "pay"})


def begin_plan(service: Running) -> None:
    """Have a donor give every month."""
    (organisation,) = asked(service, "/v1/organisations?pageSize=1&countryCode=USA&active=true&direction=ASC")
    body = {"organisationId": organisation["id"], "frequencies": ["monthly"]}
    donor = {"firstName": "Ada", "lastName": "Byron", "email": "ada@example.org", "card": "4242424242424242"}
    gift = {"action": "donate", "frequency": "monthly", "amount": 2500, "currencyCode": "USD"}
    session = asked(service, "/v1/donation-sessions", body)
    asked(service, "/v1/sandbox/simulate", {"id": session["id"], **gift, **donor})


def pause_plan(service: Running) -> None:
    """Have a plan that can go on."""
    begin_plan(service)
    (plan,) = asked(service, "/v1/donation-subscriptions?pageSize=1")
    asked(service, f"/v1/donation-subscriptions/{plan['id']}/pause", {"until": None})


BEFORE: Mapping[str, Callable[[Running], object]] = {
    "getDisbursement": settle_one,
    "createAppeal": refuse_one,
    "getAppeal": refuse_one,
    "cancelDonation": give_one,
    "refundDonation": receive_one,
    "getDonationRequest": request_one,
    **{f"{call}DonationSubscription": begin_plan for call in ("get", "update", "pause", "skip", "cancel")},
    "resumeDonationSubscription": pause_plan,
}
"""What somebody else has to do before the example can be typed."""
FINDS_NONE = {"hasGiftAid": '"not_found"'}
"""The user that the example makes has declared nothing."""


def test_every_example_of_the_reference(sandbox: Running) -> None:
    with urllib.request.urlopen(f"{sandbox.base_url}/openapi.json") as answer:
        content = ReferenceContent(json.load(answer))
    start = f"api={content.server}\nkey={sandbox.secret_key}\n"
    operations = in_order([operation for group in content.groups for operation in group.operations])
    assert len(operations) > 30
    failed = {}
    for operation in operations:
        if operation.id in BEFORE:
            BEFORE[operation.id](sandbox)
        printed = typed(sandbox, start + operation.shell)
        if expected := FINDS_NONE.get(operation.id):
            if expected not in printed:
                failed[operation.id] = f"{operation.shell}\n{printed}"
        elif not succeeded(printed) or (operation.answer and '"object":' not in printed):
            failed[operation.id] = f"{operation.shell}\n{printed}"
    assert failed == {}
