"""structlog, imported without rich: rich is there for the terminal's help, and takes 9 MB of every other process."""

import sys
from typing import Final

_HIDDEN: Final = "rich"

_was_loaded = _HIDDEN in sys.modules
if not _was_loaded:
    sys.modules[_HIDDEN] = None  # type: ignore[assignment]  # structlog imports it where it can be found
try:
    import structlog
finally:
    if not _was_loaded:
        del sys.modules[_HIDDEN]

configure: Final = structlog.configure
get_logger: Final = structlog.get_logger
make_filtering_bound_logger: Final = structlog.make_filtering_bound_logger
processors: Final = structlog.processors
