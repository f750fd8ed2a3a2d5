"""``almoner registers``."""

import asyncio

import typer

from almoner.platform.db import Database

commands = typer.Typer(help="The registers of nonprofits.", no_args_is_help=True)


async def load_samples(db: Database, stop: asyncio.Event) -> None:
    """Load the shipped sample into a sandbox that has none."""
