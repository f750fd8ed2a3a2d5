"""The receivers of docs/guides/webhooks.md, as printed there, accept what we send and refuse what we did not (W17)."""

import json
import re
import shutil
import subprocess
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from http.server import HTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import httpx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from almoner.webhooks.deliveries import signatures
from almoner.webhooks.subscriptions.domain import encode_secret

GUIDE = (Path(__file__).parents[2] / "docs" / "guides" / "webhooks.md").read_text(encoding="utf-8")
NEW = encode_secret(bytes(range(32)))
OLD = encode_secret(bytes(range(32, 64)))
BODY = '{"object":"event","data":{"id":"event_x","name":"Brücke"}}'.encode()

Check = Callable[[str, bytes, dict[str, str]], bool]


def _block(language: str) -> str:
    found = re.search(rf"### \w+\n\n```{language}\n(.*?)```", GUIDE, re.DOTALL)
    assert found, language
    return found[1]


def _python() -> dict[str, Check]:
    names: dict[str, Check] = {}
    exec(_block("python"), names)
    return names


PYTHON = _python()


def _headers(*secrets: str, wall: datetime | None = None) -> dict[str, str]:
    made = signatures.build_signed_headers(secrets, "event_x", 7, wall or datetime.now(UTC), BODY)
    return {name.lower(): value for name, value in made.items()}


def _cases() -> list[tuple[str, str, dict[str, str], bool, bool]]:
    """(what, secret of the receiver, headers, right by the first form, right by the second)."""
    late = datetime.now(UTC) - timedelta(minutes=6)
    fresh = _headers(NEW)
    return [
        ("as sent", NEW, fresh, True, True),
        ("another secret", OLD, fresh, False, False),
        ("rotation, old secret", OLD, _headers(NEW, OLD), True, True),
        ("rotation, new secret", NEW, _headers(NEW, OLD), False, True),
        ("too old", NEW, _headers(NEW, wall=late), True, False),
        ("no headers", NEW, {}, False, False),
        (
            "garbage",
            NEW,
            {"service-signature": "ü", "webhook-signature": "garbage", "webhook-timestamp": "²"},
            False,
            False,
        ),
        ("other id", NEW, {**fresh, "webhook-id": "event_y"}, True, False),
    ]


def test_w17_the_python_receiver_of_the_guide() -> None:
    for what, secret, headers, first, second in _cases():
        assert PYTHON["service_signature_is_right"](secret, BODY, headers) is first, what
        assert PYTHON["standard_signature_is_right"](secret, BODY, headers) is second, what


def test_w17_the_python_client_as_the_guide_shows_it(capsys: pytest.CaptureFixture[str]) -> None:
    found = re.search(r"With our client libraries.*?```python\n(.*?)^HTTPServer", GUIDE, re.DOTALL | re.MULTILINE)
    assert found
    data = {"eventType": "donation.payment_successful", "eventData": {"id": "donation_x", "amount": 2500}}
    body = json.dumps({"object": "event", "data": data}).encode()
    headers = signatures.build_signed_headers([NEW], "event_x", 7, datetime.now(UTC), body)
    names: dict[str, Any] = {"secret": NEW}
    exec(found[1], names)
    with HTTPServer(("127.0.0.1", 0), names["Receiver"]) as server:
        Thread(target=server.serve_forever).start()
        address = f"http://127.0.0.1:{server.server_port}"
        assert httpx.post(address, content=body, headers=headers, trust_env=False).status_code == 204
        names["secret"] = OLD
        assert httpx.post(address, content=body, headers=headers, trust_env=False).status_code == 400
        server.shutdown()
    assert capsys.readouterr().out == "donation_x 2500\n"


@given(
    st.dictionaries(
        st.sampled_from(["service-signature", "webhook-id", "webhook-timestamp", "webhook-signature"]), st.text()
    )
)
def test_w17_no_header_breaks_the_python_receiver(headers: dict[str, str]) -> None:
    assert PYTHON["service_signature_is_right"](NEW, BODY, headers) is False
    assert PYTHON["standard_signature_is_right"](NEW, BODY, headers) is False


@pytest.mark.skipif(shutil.which("node") is None, reason="node is not installed")
def test_w17_the_javascript_receiver_of_the_guide(tmp_path: Path) -> None:
    cases = _cases()
    given_to_node = [{"secret": secret, "headers": headers} for _, secret, headers, _, _ in cases]
    (tmp_path / "receiver.mjs").write_text(
        _block("javascript")
        + f"const body = Buffer.from({json.dumps(BODY.decode())});\n"
        + f"const cases = {json.dumps(given_to_node)};\n"
        + "console.log(JSON.stringify(cases.map(({ secret, headers }) => [\n"
        + "  serviceSignatureIsRight(secret, body, headers), standardSignatureIsRight(secret, body, headers)])));\n",
        encoding="utf-8",
    )
    done = subprocess.run(
        ["node", str(tmp_path / "receiver.mjs")], capture_output=True, text=True, check=True, timeout=30
    )
    assert json.loads(done.stdout) == [[first, second] for *_, first, second in cases]
