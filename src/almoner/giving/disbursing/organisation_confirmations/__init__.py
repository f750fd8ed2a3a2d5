"""Nonprofits are asked at their own address whether they want what is given for them."""
