"""``python -m almoner`` is the command ``almoner``."""

from almoner.cli.terminal import main

if __name__ == "__main__":
    main()
