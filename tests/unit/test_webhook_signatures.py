"""W13 and settled 2: both signature forms, checked with an independent verifier and by hand."""

import hashlib
import hmac
from base64 import b64encode
from datetime import UTC, datetime

import pytest
import standardwebhooks

from almoner.webhooks.deliveries import signatures
from almoner.webhooks.subscriptions.domain import encode_secret

SECRET = encode_secret(bytes(range(32)))
OLDER = encode_secret(bytes(range(100, 132)))
OTHER = encode_secret(bytes(range(50, 82)))
BODY = '{"object":"event","data":{"id":"event_x","name":"Brücke \u2713"}}'.encode()


def _headers(*secrets: str, wall: datetime | None = None) -> dict[str, str]:
    return signatures.build_signed_headers(secrets, "event_x", 7, wall or datetime.now(UTC), BODY)


def test_settled_2_a_secret_is_the_prefix_and_32_bytes_in_base64() -> None:
    assert f"whsec_{b64encode(bytes(range(32))).decode()}" == SECRET
    with pytest.raises(ValueError, match="32"):
        encode_secret(b"short")


def test_settled_2_service_signature_is_keyed_with_the_whole_secret_string() -> None:
    expected = hmac.new(SECRET.encode("utf-8"), BODY, hashlib.sha256).hexdigest()
    assert _headers(SECRET)["Service-Signature"] == expected


def test_settled_2_the_published_example_of_the_standard_verifies() -> None:
    """The vector of the Standard Webhooks libraries."""
    made = signatures.compute_standard_webhooks_signature(
        "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", "msg_p5jXN8AQM9LWM0D4loKWxJek", 1614265330, b'{"test": 2432232314}'
    )
    assert made == "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="


def test_settled_2_the_standard_library_verifies_and_notices_changes() -> None:
    verifier = standardwebhooks.Webhook(SECRET)
    assert verifier.verify(BODY, _headers(SECRET))["data"]["id"] == "event_x"
    for changed in (
        {"webhook-id": "event_y"},
        {"webhook-timestamp": "1700000000"},
        {"webhook-signature": _headers(OTHER)["webhook-signature"]},
    ):
        with pytest.raises(standardwebhooks.WebhookVerificationError):
            verifier.verify(BODY, {**_headers(SECRET), **changed})
    with pytest.raises(standardwebhooks.WebhookVerificationError):
        verifier.verify(BODY + b" ", _headers(SECRET))


def test_settled_2_the_timestamp_is_the_real_time_given() -> None:
    assert _headers(SECRET, wall=datetime(2026, 3, 2, 9, 30, 0, 999_999, UTC))["webhook-timestamp"] == "1772443800"


def test_w13_while_a_secret_is_replaced_every_receiver_can_verify() -> None:
    made = _headers(SECRET, OLDER)
    for known in (SECRET, OLDER):
        assert standardwebhooks.Webhook(known).verify(BODY, made)
    with pytest.raises(standardwebhooks.WebhookVerificationError):
        standardwebhooks.Webhook(OTHER).verify(BODY, made)
    assert made["Service-Signature"] == hmac.new(OLDER.encode(), BODY, hashlib.sha256).hexdigest()


def test_w8_numbered_events_carry_their_sequence() -> None:
    assert _headers(SECRET)["Service-Sequence"] == "7"
    assert "Service-Sequence" not in signatures.build_signed_headers([SECRET], "event_x", None, datetime.now(UTC), BODY)


def test_settled_2_the_headers_are_these() -> None:
    made = _headers(SECRET)
    assert made["Content-Type"] == "application/json"
    names = {
        "Content-Type",
        "Service-Signature",
        "webhook-id",
        "webhook-timestamp",
        "webhook-signature",
        "Service-Sequence",
    }
    assert set(made) == names
    assert "Service-Sequence" not in signatures.build_signed_headers(
        (SECRET,), "event_x", None, datetime.now(UTC), BODY
    )
