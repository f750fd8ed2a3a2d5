"""Monetary donation verifications: whether an organisation may receive disbursements."""
