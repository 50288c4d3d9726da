"""Moments and rhythms in plain English."""

from datetime import UTC, datetime

import pytest

from claw_nb.providers.offline.when import find_when

NOW = datetime(2026, 11, 30, 22, 15, tzinfo=UTC)  # a Monday


@pytest.mark.parametrize(
    ("words", "kind", "value"),
    [
        ("every day at 9", "cron", "0 9 * * *"),
        ("daily at 17:30", "cron", "30 17 * * *"),
        ("every day at 9pm", "cron", "0 21 * * *"),
        ("each day at 12am", "cron", "0 0 * * *"),
        ("every day at noon", "cron", "0 12 * * *"),
        ("daily at midnight", "cron", "0 0 * * *"),
        ("every weekday at 8", "cron", "0 8 * * 1-5"),
        ("on weekdays at 8:05", "cron", "5 8 * * 1-5"),
        ("every monday at 7", "cron", "0 7 * * 1"),
        ("every Monday, Wednesday and Friday at 7:15", "cron", "15 7 * * 1,3,5"),
        ("on sundays at 18:00", "cron", "0 18 * * 0"),
        ("every month on the 15th at 6", "cron", "0 6 15 * *"),
        ("monthly at 6", "cron", "0 6 1 * *"),
        ("every hour", "cron", "0 * * * *"),
        ("hourly", "cron", "0 * * * *"),
        ("every minute", "cron", "* * * * *"),
        ("every 15 minutes", "every", "15m"),
        ("every 2 hours", "every", "2h"),
        ("every 3 days", "every", "3d"),
        ("every 2 weeks", "every", "2w"),
        ("every 1h30m", "every", "1h30m"),
        ("cron 0 9 * * 1-5", "cron", "0 9 * * 1-5"),
        ("with cron `*/5 * * * *`", "cron", "*/5 * * * *"),
        ("cron: @daily", "cron", "@daily"),
        ("'30 6 * * MON'", "cron", "30 6 * * MON"),
        ("tomorrow at 8:15", "at", "2026-12-01T08:15"),
        ("today at 23", "at", "2026-11-30T23:00"),
        ("at 2027-01-31 09:00", "at", "2027-01-31T09:00"),
        ("on 2027-01-31T09:00:00Z", "at", "2027-01-31T09:00:00Z"),
        ("in 10 minutes", "at", "2026-11-30T22:25:00+00:00"),
        ("in 2 hours", "at", "2026-12-01T00:15:00+00:00"),
    ],
)
def test_a_time_is_understood(words, kind, value):
    found = find_when(f"schedule report.ipynb {words}", local=NOW)
    assert found is not None
    assert (found.kind, found.value) == (kind, value)


@pytest.mark.parametrize(
    "words",
    [
        "",
        "soon",
        "every day",
        "every day at 25",
        "every day at 9:75",
        "at 13pm daily at 13pm",
        "at noon sharp",
    ],
)
def test_a_time_that_is_unclear_is_not_guessed(words):
    assert find_when(f"schedule report.ipynb {words}", local=NOW) is None


def test_the_rest_of_the_words_is_left():
    words = "ask how sales went every monday at 7 in short"
    found = find_when(words, local=NOW)
    assert found is not None
    begin, end = found.span
    assert words[:begin] + words[end:] == "ask how sales went  in short"
