"""The evidence of records: what was looked at, what each step found, and the signed dossier of it."""
