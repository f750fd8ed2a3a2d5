"""The double-entry ledger, and everything that reconciles or corrects it."""
