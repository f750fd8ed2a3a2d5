"""The command ``almoner-client``, of the extra ``almoner-client[cli]``."""

import sys


def main() -> None:
    """Run the command."""
    try:
        from almoner_client.cli.commands import app
    except ModuleNotFoundError as error:
        if error.name != "typer":
            raise
        sys.exit("The command line needs more packages: pip install 'almoner-client[cli]'")
    app()
