"""Banks' reasons for returned payments in words."""

from almoner.console.bank_reasons import bank_reason_facts, bank_reason_text


def test_a_banks_code_is_explained() -> None:
    said = "the bank says RJCT: AC06 Konto gesperrt"
    reason, meaning, then = bank_reason_facts("Why it was returned", said)
    assert (reason.label, reason.value) == ("Why it was returned", said), "the bank's own words stay"
    assert (meaning.label, meaning.value) == ("Meaning of AC06", "The account is blocked")
    assert "release the hold" in then.value
    assert bank_reason_text("AM05") == "AM05 (the bank considers the payment a duplicate)"


def test_a_reason_without_a_known_code_stays_as_it_is() -> None:
    for unknown in ("their bank called", "XX99", "MAC06X"):
        assert [fact.value for fact in bank_reason_facts("Why", unknown)] == [unknown]
        assert bank_reason_text(unknown) == unknown
    assert bank_reason_text(None) is None
