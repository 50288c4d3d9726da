"""When a task is due: cron, interval or one moment, as pure functions with the clock as argument.

All moments are UTC microseconds since 1970.
"""

from __future__ import annotations

import difflib
import os
import re
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError, available_timezones

from claw_nb.core.errors import InvalidInput
from claw_nb.core.records import ScheduleKind, Task
from claw_nb.tasks import cron as crontab

SECOND = 1_000_000

_UNITS = {"w": 604_800, "d": 86_400, "h": 3_600, "m": 60, "s": 1}
_INTERVAL = re.compile("".join(rf"(?:(?P<{unit}>\d+){unit})?" for unit in _UNITS), re.ASCII)
_MOMENT = re.compile(
    r"\d{4}-\d\d-\d\d[Tt ]\d\d:\d\d(:\d\d(\.\d{1,6})?)?([Zz]|[+-]\d\d:\d\d)?", re.ASCII
)
_LONGEST = 10 * 366 * 86_400
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, kw_only=True)
class Schedule:
    """What is kept of a schedule: ``value`` is canonical, as in ``records.Task``."""

    kind: ScheduleKind
    value: str
    timezone: str = "UTC"


def cron(expression: str, *, timezone: str) -> Schedule:
    """A five-field cron expression or an alias such as ``@daily``, in an IANA zone."""
    return Schedule(kind="cron", value=crontab.parse(expression), timezone=zone(timezone).key)


def every(text: str, *, timezone: str) -> Schedule:
    """An interval such as ``90s``, ``1h30m`` or ``2w``; the zone is only for showing moments."""
    return Schedule(kind="interval", value=str(seconds(text)), timezone=zone(timezone).key)


def at(text: str, *, timezone: str) -> Schedule:
    """One moment in RFC 3339; without an offset it is wall-clock time in the zone."""
    place = zone(timezone)
    try:
        if not _MOMENT.fullmatch(text.strip()):
            raise ValueError(text)
        moment = datetime.fromisoformat(text.strip().upper())
        if moment.tzinfo is None:
            moment = moment.replace(tzinfo=place).astimezone(UTC)
        moment = moment.astimezone(place)
    except (ValueError, OverflowError) as error:
        raise InvalidInput(
            f"{text!r} is not a moment in time.",
            hint="Write it like 2027-01-31T09:00, or with an offset: 2027-01-31T09:00:00+01:00.",
        ) from error
    return Schedule(kind="once", value=moment.isoformat(), timezone=place.key)


def seconds(text: str) -> int:
    """A span such as ``45s``, ``30m``, ``1h30m`` or ``2w`` in seconds, at least one."""
    match = _INTERVAL.fullmatch(text.strip().lower())
    found = sum(int(match[unit] or 0) * _UNITS[unit] for unit in _UNITS) if match else 0
    if not 1 <= found <= _LONGEST:
        raise InvalidInput(
            f"{text!r} is not a span of time.",
            hint="Write whole numbers with units, the largest first: 45s, 30m, 1h30m, 2d, 1w.",
        )
    return found


def of(task: Task) -> Schedule:
    """The schedule of a kept task."""
    return Schedule(kind=task.schedule_type, value=task.schedule_value, timezone=task.timezone)


def next_run(schedule: Schedule, *, after: int, anchor: int = 0) -> int | None:
    """The first due moment later than ``after``, or None when there is none any more.

    Intervals stand on a grid: ``anchor`` plus whole multiples, so they never drift.
    """
    match schedule.kind:
        case "cron":
            place = ZoneInfo(schedule.timezone)
            return micros(crontab.next_moment(schedule.value, moment(after), place))
        case "interval":
            step = int(schedule.value) * SECOND
            return anchor + max((after - anchor) // step + 1, 1) * step
        case "once":
            due = micros(datetime.fromisoformat(schedule.value))
            return due if due > after else None


def last_due(schedule: Schedule, *, first: int, now: int, anchor: int = 0) -> int:
    """The latest due moment that is not after ``now``, given that ``first`` was due by then."""
    if schedule.kind == "once":
        return first
    if schedule.kind == "interval":
        step = int(schedule.value) * SECOND
        return max(first, anchor + step * count) if (count := (now - anchor) // step) else first
    # Look back over a span that grows until it holds a due moment, then walk to its last.
    for span in (120, 7_200, 172_800, 40 * 86_400, 800 * 86_400):
        start = max(first, now - span * SECOND)
        found = start if start == first else next_run(schedule, after=start)
        if found is not None and found <= now:
            while (later := next_run(schedule, after=found)) is not None and later <= now:
                found = later
            return found
    return first


def zone(name: str) -> ZoneInfo:
    """The IANA time zone of that name."""
    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError) as error:
        near = difflib.get_close_matches(name, available_timezones(), n=3, cutoff=0.6)
        raise InvalidInput(
            f"There is no time zone named {name!r}.",
            hint=f"Did you mean {' or '.join(near)}?"
            if near
            else "Use an IANA name such as Europe/Berlin, America/New_York or UTC.",
        ) from error


def local_zone() -> str:
    """The IANA name of this machine's zone, UTC when it cannot be told."""
    name = os.environ.get("TZ", "").removeprefix(":")
    link = Path("/etc/localtime")
    if not name and link.is_symlink():
        name = str(link.resolve()).partition("zoneinfo/")[2]
    try:
        return ZoneInfo(name).key if name else "UTC"
    except (ZoneInfoNotFoundError, ValueError, OSError):
        return "UTC"


def moment(micros: int) -> datetime:
    """UTC microseconds as an aware datetime."""
    return _EPOCH + timedelta(microseconds=micros)


def micros(moment: datetime) -> int:
    """An aware datetime as UTC microseconds."""
    return (moment - _EPOCH) // timedelta(microseconds=1)


def show(micros: int, timezone: str) -> str:
    """A moment for people, in a zone: ``Mon 2027-01-04 09:00 CET``."""
    local = moment(micros).astimezone(ZoneInfo(timezone))
    clock = "%H:%M:%S" if local.second else "%H:%M"
    return local.strftime(f"%a %Y-%m-%d {clock} %Z")
