"""structlog without the modules that it imports to colour terminals, which take 10 MB of every process."""

import sys
from typing import Final

_UNUSED: Final = ("rich", "greenlet", "colorama")

_hidden = [name for name in _UNUSED if name not in sys.modules]
for _name in _hidden:
    sys.modules[_name] = None  # type: ignore[assignment]  # structlog imports it where it can be found
try:
    import structlog
finally:
    for _name in _hidden:
        del sys.modules[_name]

configure: Final = structlog.configure
get_logger: Final = structlog.get_logger
make_filtering_bound_logger: Final = structlog.make_filtering_bound_logger
processors: Final = structlog.processors
