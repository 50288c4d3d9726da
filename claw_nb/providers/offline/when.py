"""A moment or a rhythm in plain English, as the schedule tool takes it."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Literal


@dataclass(frozen=True, kw_only=True)
class When:
    """``kind`` names the parameter of schedule_task, ``value`` is its text; ``span`` is where in
    the words it stood.
    """

    kind: Literal["cron", "every", "at"]
    value: str
    span: tuple[int, int]


_DAYS = ("sunday", "monday", "tuesday", "wednesday", "thursday", "friday", "saturday")
_DAY = rf"(?:{'|'.join(_DAYS)})s?"
_TIME = r"(?:noon|midnight|\d{1,2}(?:[:.h]\d{2})?\s*(?:am|pm|h\b|o'?clock)?)"
_AT = rf"(?:\s*,?\s*(?:at\s+)?(?P<time>{_TIME}))?(?!\w)"
_UNITS: Mapping[str, str] = {"second": "s", "minute": "m", "min": "m", "hour": "h", "week": "w"}
_ORDINAL = r"(?P<date>\d{1,2})(?:st|nd|rd|th)?"
_FIELD = r"[\d*/,A-Za-z#-]+"

_CRON = re.compile(
    rf"(?:with\s+|on\s+)?\bcron\b\s*[:=]?\s*[`\"']?"
    rf"(?P<cron>{_FIELD}(?:\s+{_FIELD}){{4}}|@\w+)[`\"']?"
)
_BARE_CRON = re.compile(r"[`\"'](?P<cron>[\d*/,-]+(?:\s+[\d*/,A-Za-z-]+){4})[`\"']")
_INTERVAL = re.compile(
    r"\bevery\s+(?P<n>\d+)\s*(?P<unit>second|minute|min|hour|day|week)s?\b", re.I
)
_SHORT = re.compile(r"\bevery\s+(?P<value>(?:\d+[wdhms])+)\b", re.I)
_HOURLY = re.compile(r"\b(?:every\s+hour|hourly)\b", re.I)
_MINUTELY = re.compile(r"\bevery\s+minute\b", re.I)
_DAILY = re.compile(rf"\b(?:every\s*day|daily|each\s+day){_AT}", re.I)
_WEEKDAYS = re.compile(
    rf"\b(?:every\s+(?:week|working\s+|business\s+)day|on\s+weekdays|weekdays){_AT}", re.I
)
_WEEKLY = re.compile(
    rf"\b(?:(?:every|each|on)\s+|weekly\s+on\s+|every\s+week\s+on\s+)"
    rf"(?P<days>{_DAY}(?:\s*(?:,|and)\s*{_DAY})*){_AT}",
    re.I,
)
_MONTHLY = re.compile(
    rf"\b(?:every\s+month|monthly)(?:\s+on\s+(?:the\s+)?{_ORDINAL})?{_AT}"
    rf"|\bon\s+the\s+(?P<date2>\d{{1,2}})(?:st|nd|rd|th)\s+of\s+(?:every|each)\s+month",
    re.I,
)
_MOMENT = re.compile(
    r"\b(?:at|on|once)?\s*(?P<moment>\d{4}-\d\d-\d\d[T ]\d\d:\d\d(?::\d\d)?(?:Z|[+-]\d\d:\d\d)?)"
)
_TOMORROW = re.compile(rf"\b(?P<day>tomorrow|today){_AT}", re.I)
_SOON = re.compile(r"\bin\s+(?P<n>\d+)\s*(?P<unit>minute|min|hour|day|week)s?\b", re.I)


def _cron(match: re.Match[str], local: datetime) -> str:
    return " ".join(match["cron"].split())


def _interval(match: re.Match[str], local: datetime) -> str:
    return match["n"] + {**_UNITS, "day": "d"}[match["unit"].lower()]


def clock_time(text: str | None) -> tuple[int, int] | None:
    """Hour and minute of ``9``, ``9:30``, ``9pm``, ``noon``; None when it is no time of day."""
    words = (text or "").lower().strip()
    if words in ("noon", "midnight"):
        return (12, 0) if words == "noon" else (0, 0)
    match = re.fullmatch(r"(\d{1,2})(?:[:.h](\d{2}))?\s*(am|pm|h|o'?clock)?", words)
    if not match:
        return None
    hour, minute = int(match[1]), int(match[2] or 0)
    if match[3] in ("am", "pm"):
        if not 1 <= hour <= 12:
            return None
        hour = hour % 12 + (12 if match[3] == "pm" else 0)
    return (hour, minute) if hour < 24 and minute < 60 else None


def _at_time(text: str | None, rest: str) -> str | None:
    time = clock_time(text)
    return f"{time[1]} {time[0]} {rest}" if time else None


def _weekly(match: re.Match[str], local: datetime) -> str | None:
    days = re.findall("|".join(_DAYS), match["days"].lower())
    return _at_time(match["time"], f"* * {','.join(str(_DAYS.index(day)) for day in days)}")


def _monthly(match: re.Match[str], local: datetime) -> str | None:
    date = int(match["date"] or match["date2"] or 1)
    return _at_time(match["time"], f"{date} * *") if 1 <= date <= 31 else None


def _tomorrow(match: re.Match[str], local: datetime) -> str | None:
    time = clock_time(match["time"])
    if time is None:
        return None
    day = local + timedelta(days=1 if match["day"].lower() == "tomorrow" else 0)
    return f"{day:%Y-%m-%d}T{time[0]:02}:{time[1]:02}"


def _soon(match: re.Match[str], local: datetime) -> str:
    unit = {"min": "minute"}.get(match["unit"].lower(), match["unit"].lower())
    moment = local + timedelta(**{f"{unit}s": int(match["n"])})
    return moment.isoformat(timespec="seconds")


_Kind = Literal["cron", "every", "at"]
_Make = Callable[[re.Match[str], datetime], str | None]
_FORMS: tuple[tuple[re.Pattern[str], _Kind, _Make], ...] = (
    (_CRON, "cron", _cron),
    (_BARE_CRON, "cron", _cron),
    (_SHORT, "every", lambda match, _: match["value"].lower()),
    (_INTERVAL, "every", _interval),
    (_HOURLY, "cron", lambda _, __: "0 * * * *"),
    (_MINUTELY, "cron", lambda _, __: "* * * * *"),
    (_WEEKDAYS, "cron", lambda match, _: _at_time(match["time"], "* * 1-5")),
    (_DAILY, "cron", lambda match, _: _at_time(match["time"], "* * *")),
    (_WEEKLY, "cron", _weekly),
    (_MONTHLY, "cron", _monthly),
    (_MOMENT, "at", lambda match, _: match["moment"].replace(" ", "T")),
    (_TOMORROW, "at", _tomorrow),
    (_SOON, "at", _soon),
)


def find_when(words: str, *, local: datetime) -> When | None:
    """The first form that fits the words, or None. ``local`` is the time now, with its zone."""
    for pattern, kind, make in _FORMS:
        match = pattern.search(words)
        value = make(match, local) if match else None
        if match and value:
            return When(kind=kind, value=value, span=match.span())
    return None
