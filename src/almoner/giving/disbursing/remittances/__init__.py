"""Remittance statements: documents that tell a nonprofit which donations a disbursement pays."""
