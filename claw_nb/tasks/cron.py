"""Cron expressions: five fields read strictly, and their next moment in a zone with summer time.

croniter finds the matching wall-clock times; which moments those are is decided here, as Debian's
cron does it. An expression that names its hours and minutes runs once for each: a time that the
spring change skips runs when the gap ends, a time that the autumn change repeats runs at its first
pass. When the minute or hour field starts with ``*``, the expression means intervals: every real
moment whose wall-clock time matches, both passes included.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

from croniter import CroniterBadDateError, croniter

from claw_nb.core.errors import InvalidInput

ALIASES = {
    "@yearly": "0 0 1 1 *",
    "@annually": "0 0 1 1 *",
    "@monthly": "0 0 1 * *",
    "@weekly": "0 0 * * 0",
    "@daily": "0 0 * * *",
    "@midnight": "0 0 * * *",
    "@hourly": "0 * * * *",
}

MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
WEEKDAYS = ("sun", "mon", "tue", "wed", "thu", "fri", "sat")

_FIELDS: tuple[tuple[str, int, int, tuple[str, ...]], ...] = (
    ("minute", 0, 59, ()),
    ("hour", 0, 23, ()),
    ("day of month", 1, 31, ()),
    ("month", 1, 12, MONTHS),
    ("day of week", 0, 7, WEEKDAYS),
)
_TERM = re.compile(r"(?P<first>\*|\w+)(?:-(?P<last>\w+))?(?:/(?P<step>\d+))?", re.ASCII)
_NTH = re.compile(r"(?P<day>\w+)#(?P<nth>[1-5])", re.ASCII)

_HINT = (
    "A cron expression has five fields: minute, hour, day of month, month, day of week. "
    "For example '0 9 * * mon-fri' is 09:00 on working days, and '*/15 * * * *' is every quarter."
)


def parse(text: str) -> str:
    """The expression in its canonical form: lower case, names as numbers, aliases written out."""
    lower = text.strip().lower()
    if lower.startswith("@") and lower not in ALIASES:
        raise InvalidInput(
            f"{text!r} is not a known cron alias.", hint=f"Known are {', '.join(ALIASES)}."
        )
    fields = ALIASES.get(lower, lower).split()
    if len(fields) != len(_FIELDS):
        raise InvalidInput(
            f"The cron expression {text!r} has {len(fields)} fields instead of five.", hint=_HINT
        )
    canonical = " ".join(_field(text, index, field) for index, field in enumerate(fields))
    _, _, day, _, weekday = canonical.split()
    if "#" in weekday and (day != "*" or weekday.count("#") <= weekday.count(",")):
        raise InvalidInput(
            f"{weekday!r} in {text!r} cannot be combined with other days.",
            hint="Make a task of its own for the other days.",
        )
    try:
        next(_walls(canonical, datetime(2000, 1, 1)))  # noqa: DTZ001 - a wall-clock time
    except CroniterBadDateError as error:
        raise InvalidInput(
            f"The cron expression {text!r} never comes due: no date fits it.", hint=_HINT
        ) from error
    return canonical


def _field(text: str, index: int, field: str) -> str:
    name, low, high, _ = _FIELDS[index]
    if name == "day of month" and field == "l":
        return field
    terms = []
    for term in field.split(","):
        if name == "day of week" and (nth := _NTH.fullmatch(term)):
            terms.append(f"{_number(text, index, nth['day']) % 7}#{nth['nth']}")
            continue
        match = _TERM.fullmatch(term)
        if not match or (match["first"] == "*" and match["last"]):
            raise InvalidInput(
                f"{term!r} is not a valid {name} in the cron expression {text!r}.", hint=_HINT
            )
        terms.append(_range(text, index, match["first"], match["last"]))
        if step := match["step"]:
            if not 1 <= int(step) <= high - low + 1:
                raise InvalidInput(
                    f"The step {step} in {term!r} does not fit the {name} in {text!r}.",
                    hint=f"It may be 1 to {high - low + 1}.",
                )
            # A range of one value has nothing to step over, but "5/2" would begin at 5 and go on.
            if not match["last"] or "-" in terms[-1]:
                terms[-1] += f"/{int(step)}"
    return ",".join(terms)


def _range(text: str, index: int, first: str, last: str | None) -> str:
    if first == "*":
        return "*"
    start = _number(text, index, first)
    if last is None:
        return str(start)
    end = _number(text, index, last)
    if start > end == 0 and _FIELDS[index][0] == "day of week":
        end = 7
    if end < start:
        raise InvalidInput(
            f"The range {first}-{last} in the cron expression {text!r} runs backwards.",
            hint=f"Write it as two: {first}-{_FIELDS[index][2]},{_FIELDS[index][1]}-{last}.",
        )
    # croniter takes a range from a value to itself for the whole cycle.
    return str(start) if start == end else f"{start}-{end}"


def _number(text: str, index: int, atom: str) -> int:
    name, low, high, names = _FIELDS[index]
    if atom in names:
        return names.index(atom) + low
    if not atom.isdigit() or not low <= int(atom) <= high:
        raise InvalidInput(
            f"{atom!r} is not a valid {name} in the cron expression {text!r}.",
            hint=f"It may be {low} to {high}{f', or {names[0]} to {names[-1]}' if names else ''}.",
        )
    return int(atom)


def next_moment(expression: str, after: datetime, zone: ZoneInfo) -> datetime:
    """The first moment later than ``after`` (aware) of a canonical expression, in UTC."""
    minute, hour, *_ = expression.split()
    if minute.startswith("*") or hour.startswith("*"):
        return _next_of_intervals(expression, after, zone)
    start = after.astimezone(zone).replace(tzinfo=None)
    return next(
        moment for wall in _walls(expression, start) if (moment := _settle(wall, zone)) > after
    )


def _next_of_intervals(expression: str, after: datetime, zone: ZoneInfo) -> datetime:
    local = after.astimezone(zone)
    now = local.replace(tzinfo=None)
    # Clocks set back within the next day repeat wall-clock times that have already passed.
    later = (after + timedelta(days=1)).astimezone(zone)
    back = max(_offset(local) - _offset(later), timedelta(0))
    found: list[datetime] = []
    for wall in _walls(expression, now - back):
        found += [moment for moment in _passes(wall, zone) if moment > after]
        if found and wall > now:
            break
    return min(found)


def _walls(expression: str, start: datetime) -> Iterator[datetime]:
    """Matching wall-clock times, zone-less, later than ``start``."""
    walls = croniter(expression, start, ret_type=datetime, implement_cron_bug=True)
    while True:
        yield walls.get_next(datetime)


def _settle(wall: datetime, zone: ZoneInfo) -> datetime:
    """The first pass of a wall-clock time; the end of the gap for one that doesn't exist."""
    while not (passes := _passes(wall, zone)):
        wall += timedelta(minutes=1)
    return passes[0]


def _passes(wall: datetime, zone: ZoneInfo) -> list[datetime]:
    """The moments at which the clocks of the zone show ``wall``: none, one, or two."""
    moments = [wall.replace(tzinfo=zone, fold=fold).astimezone(UTC) for fold in (0, 1)]
    real = [m for m in moments if m.astimezone(zone).replace(tzinfo=None) == wall]
    return sorted(set(real))


def _offset(moment: datetime) -> timedelta:
    return moment.utcoffset() or timedelta(0)
