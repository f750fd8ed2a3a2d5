"""The donor's email receipt, sent once the money is here (spec 4.8)."""
