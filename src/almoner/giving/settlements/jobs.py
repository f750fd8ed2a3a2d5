"""Lines of reports that could not be booked are looked at again every night: what was missing may have come."""

from typing import Final

from almoner.giving.settlements import service
from almoner.platform.work import Schedule

schedules: Final = (Schedule("settlements.look_again", service.next_look, service.look_nightly),)
