"""The command ``almoner``."""
