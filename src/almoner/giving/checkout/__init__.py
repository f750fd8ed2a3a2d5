"""Taking a donation: sessions, the hosted page, payments, and what partners pay for donors."""
