"""The command ``almoner``."""

from almoner.cli.terminal import main

__all__ = ["main"]
