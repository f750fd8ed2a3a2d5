"""What people prove by that they are who they say: passwords, one-time passwords, recovery codes, passkeys."""
