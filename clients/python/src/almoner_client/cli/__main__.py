"""``python -m almoner_client.cli``."""

from almoner_client.cli import main

main()
