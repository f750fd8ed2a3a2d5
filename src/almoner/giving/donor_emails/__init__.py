"""Emails to donors about bank transfers, refunds and reassignments."""
