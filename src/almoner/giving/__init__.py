"""Donations: checkout, accounting, disbursements, banking and Gift Aid."""
