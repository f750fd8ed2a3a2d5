"""The mail that tells a donor that their gift is for another nonprofit now, and why."""
