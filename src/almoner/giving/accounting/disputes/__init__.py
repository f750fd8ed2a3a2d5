"""Disputes (chargebacks) of paid donations."""
