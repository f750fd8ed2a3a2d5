"""Brakes against card testing (H6, H7): who began which payment, what was declined, and the code by e-mail (H11)."""
