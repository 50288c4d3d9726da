"""A schedule in words, so that people can see that they were understood."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime

from claw_nb.tasks.schedule import Schedule, micros, next_run, show

_MONTHS = (
    "January", "February", "March", "April", "May", "June",
    "July", "August", "September", "October", "November", "December",
)  # fmt: skip
_DAYS = ("Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
_NTH = ("first", "second", "third", "fourth", "fifth")
_UNITS = (("week", 604_800), ("day", 86_400), ("hour", 3_600), ("minute", 60), ("second", 1))


def describe(schedule: Schedule) -> str:
    """The schedule in words: ``at 09:00, Monday to Friday (Europe/Berlin)``."""
    match schedule.kind:
        case "cron":
            return f"{_cron(schedule.value)} ({schedule.timezone})"
        case "interval":
            return f"every {_duration(int(schedule.value))}"
        case "once":
            due = micros(datetime.fromisoformat(schedule.value))
            return f"once, {show(due, schedule.timezone)}"


def echo(schedule: Schedule, *, now: int, anchor: int = 0) -> str:
    """The schedule in words with its next moment in local time."""
    due = next_run(schedule, after=now, anchor=anchor or now)
    if schedule.kind == "once" or due is None:
        return describe(schedule)
    return f"{describe(schedule)}, next {show(due, schedule.timezone)}"


def _duration(seconds: int) -> str:
    parts = []
    for unit, size in _UNITS:
        count, seconds = divmod(seconds, size)
        if count:
            parts.append(f"{count} {unit}{'s' if count > 1 else ''}")
    return parts[0].removeprefix("1 ") if len(parts) == 1 else _and(parts)


def _cron(expression: str) -> str:
    minute, hour, day, month, weekday = expression.split()
    when = [_time(minute, hour)]
    dates = [_days(day)] if day != "*" else []
    dates += [_weekdays(weekday)] if weekday != "*" else []
    # Debian's rule: both must fit when one of them starts with a star, else either.
    both = day.startswith("*") or weekday.startswith("*")
    if dates:
        when.append((" if it is also " if both else " or ").join(dates))
    elif when[0].startswith("at ") and month == "*":
        when.append("every day")
    if month != "*":
        when.append(f"in {_list(month, lambda n: _MONTHS[n - 1], 'month')}")
    return ", ".join(when)


def _time(minute: str, hour: str) -> str:
    minutes, hours = minute.split(","), hour.split(",")
    numbers = all(part.isdigit() for part in minutes + hours)
    if numbers and len(minutes) * len(hours) <= 6:
        return "at " + _and([f"{int(h):02}:{int(m):02}" for h in hours for m in minutes])
    if hour == "*" and minute.isdigit():
        return "every hour on the hour" if int(minute) == 0 else f"every hour at minute {minute}"
    if minute == "0" and hour.startswith("*/"):
        return f"{_list(hour, str, 'hour')} on the hour"
    past = _list(minute, str, "minute")
    past = past if past.startswith("every") else f"at minute {past}"
    return past if hour == "*" else f"{past} past {_hours(hour)}"


def _hours(hour: str) -> str:
    words = _list(hour, str, "hour")
    return words if words.startswith("every") else f"hour {words}"


def _days(day: str) -> str:
    if day == "l":
        return "the last day of the month"
    words = _list(day, str, "day")
    return f"{words} of the month" if words.startswith("every") else f"day {words} of the month"


def _weekdays(weekday: str) -> str:
    return _list(weekday, lambda n: _DAYS[n], "day of the week")


def _list(field: str, name: Callable[[int], object], unit: str) -> str:
    return _and([_term(term, name, unit) for term in field.split(",")])


def _term(term: str, name: Callable[[int], object], unit: str) -> str:
    span, _, step = term.partition("/")
    if "#" in span:
        day, _, nth = span.partition("#")
        return f"the {_NTH[int(nth) - 1]} {name(int(day))} of the month"
    if span == "*":
        return f"every {unit}" if step in ("", "1") else f"every {step} {unit}s"
    first, _, last = span.partition("-")
    words = f"{name(int(first))} to {name(int(last))}" if last else str(name(int(first)))
    if step:
        words = f"every {step} {unit}s from {words}"
    return words


def _and(parts: list[str]) -> str:
    return parts[0] if len(parts) == 1 else f"{', '.join(parts[:-1])} and {parts[-1]}"
