"""The partner's dashboard: donations, validations and events where a partner's people work every day."""
