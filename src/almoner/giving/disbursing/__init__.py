"""Paying nonprofits: disbursements, the accounts they go to, and whether they may go there."""
