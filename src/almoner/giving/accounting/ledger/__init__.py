"""The append-only double-entry ledger, posted in the transaction of each state change."""
