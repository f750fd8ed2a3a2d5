"""The page on which donors see and change their regular donations, opened by a link that is mailed to them."""
