"""Disbursements: batches of settled donations and the bank transfers they become."""
