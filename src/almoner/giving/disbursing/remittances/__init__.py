"""What a nonprofit is told of a payout, as a document."""
