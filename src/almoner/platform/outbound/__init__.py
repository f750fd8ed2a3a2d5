"""What leaves the service: HTTP calls, downloads, emails."""
