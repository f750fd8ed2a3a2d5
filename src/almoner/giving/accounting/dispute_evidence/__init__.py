"""Evidence for disputes: texts and files that operators submit to the payment provider, once for each dispute."""
