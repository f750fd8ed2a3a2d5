"""Taking donations: sessions, the hosted page, payments, and direct donations that partners pay for."""
