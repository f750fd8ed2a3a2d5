"""The sandbox as a tool (settled 9): the clock, simulated people, the mailbox. Not wired in production."""
