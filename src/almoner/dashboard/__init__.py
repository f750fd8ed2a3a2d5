"""The partner's dashboard: where members see and manage donations, validations and events."""
