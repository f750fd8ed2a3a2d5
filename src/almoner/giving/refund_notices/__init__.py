"""The mail that tells a donor that held money went back, and why."""
