"""How well names agree, with the reasons; pure."""
