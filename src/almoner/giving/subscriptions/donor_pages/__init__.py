"""The page on which donors see and change their regular donations, opened by an emailed link."""
