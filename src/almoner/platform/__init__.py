"""The infrastructure under every area: database, HTTP, events, jobs, secrets. No business terms."""
