"""The books: double entry, append-only, posted in the transaction of the state change that moves the money."""
