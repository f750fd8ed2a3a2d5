"""The evidence of records: evaluations with their steps, and signed dossiers."""
