"""Where nonprofits are paid: their accounts, and who looked at them."""
