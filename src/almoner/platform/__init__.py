"""What every area stands on: database, HTTP, events, jobs, secrets. No business words here."""
