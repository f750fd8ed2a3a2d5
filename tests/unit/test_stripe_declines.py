"""What is done after each reason to decline a saved card: networks charge for tries that cannot succeed."""

import msgspec
import pytest

from almoner.adapters.stripe_declines import ChargeErrorDetails, classify_decline
from almoner.giving.checkout.payments.domain import DeclineAction

VISA = {"card": {"brand": "visa"}}
MASTERCARD = {"card": {"brand": "mastercard"}}


def action(**error: object) -> DeclineAction:
    return classify_decline(msgspec.convert(error, ChargeErrorDetails)).action


@pytest.mark.parametrize(
    ("expected", "codes"),
    [
        (
            DeclineAction.NEVER,
            (
                "lost_card stolen_card pickup_card fraudulent merchant_blacklist highest_risk_level incorrect_number "
                "invalid_account card_not_supported currency_not_supported transaction_not_allowed restricted_card "
                "security_violation"
            ),
        ),
        (
            DeclineAction.REVOKED,
            "revocation_of_authorization revocation_of_all_authorizations stop_payment_order",
        ),
        (DeclineAction.ASK_DONOR, "incorrect_cvc invalid_expiry_month invalid_expiry_year incorrect_zip invalid_cvc"),
        (
            DeclineAction.RETRY,
            (
                "insufficient_funds card_velocity_exceeded withdrawal_count_limit_exceeded processing_error "
                "issuer_not_available reenter_transaction try_again_later approve_with_id generic_decline do_not_honor "
                "call_issuer service_not_allowed not_permitted a_code_of_tomorrow"
            ),
        ),
    ],
)
def test_each_decline_code_has_its_class(expected: DeclineAction, codes: str) -> None:
    for code in codes.split():
        assert action(code="card_declined", decline_code=code) is expected, code


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        ("authentication_required", DeclineAction.AUTHENTICATE),
        ("expired_card", DeclineAction.ASK_DONOR),
        ("processing_error", DeclineAction.RETRY),
    ],
)
def test_an_error_code_alone_is_read_too(code: str, expected: DeclineAction) -> None:
    decline = classify_decline(ChargeErrorDetails(code=code))
    assert (decline.action, decline.decline_code) == (expected, code)


def test_the_networks_and_stripes_advice_stop_what_the_code_would_try_again() -> None:
    soft: dict[str, object] = {"code": "card_declined", "decline_code": "do_not_honor"}
    assert action(**soft, advice_code="do_not_try_again") is DeclineAction.NEVER
    assert action(**soft, advice_code="confirm_card_data") is DeclineAction.ASK_DONOR
    assert action(**soft, advice_code="try_again_later") is DeclineAction.RETRY
    assert action(**soft, network_advice_code="03") is DeclineAction.NEVER
    assert action(**soft, network_advice_code="21") is DeclineAction.REVOKED
    assert action(**soft, network_advice_code="24") is DeclineAction.RETRY
    for stopped in ("R0", "R1", "R3"):
        assert action(**soft, network_decline_code=stopped) is DeclineAction.REVOKED
    assert action(**soft, network_decline_code="14", payment_method=VISA) is DeclineAction.NEVER
    assert action(**soft, network_decline_code="14", payment_method=MASTERCARD) is DeclineAction.RETRY
    assert action(**soft, network_decline_code="51", payment_method=VISA) is DeclineAction.RETRY


def test_a_decline_without_any_reason_is_worth_another_day() -> None:
    assert classify_decline(ChargeErrorDetails()).action is DeclineAction.RETRY
