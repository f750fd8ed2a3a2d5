"""Donors' bank transfers: where they go, and that the donor has sent one (settled 5)."""
