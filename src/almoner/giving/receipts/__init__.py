"""The donor's e-mail receipt, sent once the money is here (spec 4.8)."""
