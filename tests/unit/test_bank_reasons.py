"""Banks' reasons for returned payments in words."""

from almoner.console.bank_reasons import describe_bank_return_reason, list_bank_return_reason_facts


def test_a_banks_code_is_explained() -> None:
    said = "the bank says RJCT: AC06 Konto gesperrt"
    reason, meaning, then = list_bank_return_reason_facts("Why it was returned", said)
    assert (reason.label, reason.value) == ("Why it was returned", said), "the bank's own words stay"
    assert (meaning.label, meaning.value) == ("Meaning of AC06", "The account is blocked")
    assert "release the hold" in then.value
    assert describe_bank_return_reason("AM05") == "AM05 (the bank considers the payment a duplicate)"


def test_a_reason_without_a_known_code_stays_as_it_is() -> None:
    for unknown in ("their bank called", "XX99", "MAC06X"):
        assert [fact.value for fact in list_bank_return_reason_facts("Why", unknown)] == [unknown]
        assert describe_bank_return_reason(unknown) == unknown
    assert describe_bank_return_reason(None) is None
