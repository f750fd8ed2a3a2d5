"""The donor's email receipt, sent once the payment was received (spec 4.8)."""
