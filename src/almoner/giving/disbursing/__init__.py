"""Disbursements to nonprofits, their bank accounts, and whether they may be paid."""
