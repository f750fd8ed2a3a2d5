"""Remittance statements: documents that list the donations of a disbursement for the nonprofit."""
