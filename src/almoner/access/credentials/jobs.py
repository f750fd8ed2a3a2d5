"""Tries are forgotten after a day, by real time."""

from datetime import timedelta
from typing import Final

from almoner.access.credentials.service import tries
from almoner.platform.work import Schedule

schedules: Final = (Schedule("credentials.forget", tries.next_due, tries.forget_old, every=timedelta(hours=1)),)
