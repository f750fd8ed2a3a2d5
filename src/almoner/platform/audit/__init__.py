"""The audit log: entries, their hash chain, its signed heads, and its verification (V8)."""
