"""When a task is due: parsed strictly, reckoned right through every change of the clocks."""

from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
from cronsim import CronSim
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from claw_nb.core.errors import InvalidInput
from claw_nb.tasks import cron, schedule
from claw_nb.tasks.words import describe, echo

ZONES = (
    "UTC", "America/New_York", "Europe/Berlin", "America/Santiago", "Africa/Casablanca",
    "Asia/Kolkata", "Pacific/Auckland", "Africa/Cairo", "Asia/Beirut", "America/St_Johns",
    "Antarctica/Troll", "Europe/Dublin", "Pacific/Apia",
)  # fmt: skip


NEW_YEAR = datetime.fromisoformat("2024-01-01T00:00")


def local(text: str, zone: str) -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=ZoneInfo(zone))


def nexts(expression: str, zone: str, start: str, count: int) -> list[str]:
    place, moment = ZoneInfo(zone), local(start, zone).astimezone(UTC)
    found = []
    for _ in range(count):
        moment = cron.next_moment(cron.parse(expression), moment, place)
        found.append(moment.astimezone(place).isoformat(timespec="minutes"))
    return found


# -- cron against an independent implementation ----------------------------------------------------


def fields(low: int, high: int) -> st.SearchStrategy[str]:
    number = st.integers(low, high)

    def span(ends: tuple[int, int], step: int) -> str:
        first, last = sorted(ends)
        # Cronsim takes "5-5/2" for "5/2".
        return f"{first}-{last}" + (f"/{step}" if first < last and step else "")

    steps = st.integers(0, max(1, (high - low) // 2))
    term = st.one_of(number.map(str), st.builds(span, st.tuples(number, number), steps))
    return st.one_of(
        st.just("*"),
        st.integers(1, high - low).map(lambda step: f"*/{step}"),
        st.lists(term, min_size=1, max_size=3).map(",".join),
    )


expressions = st.one_of(
    st.tuples(fields(0, 59), fields(0, 23), fields(1, 31), fields(1, 12), fields(0, 7)),
    st.tuples(fields(0, 59), fields(0, 5), st.just("*"), st.just("*"), st.just("*")),
    st.tuples(fields(0, 59), fields(0, 23), st.just("L"), fields(1, 12), fields(0, 7)),
    st.tuples(
        fields(0, 59),
        fields(0, 23),
        st.just("*"),
        fields(1, 12),
        st.lists(
            st.builds("{}#{}".format, st.integers(0, 6), st.integers(1, 5)), min_size=1, max_size=2
        ).map(",".join),
    ),
).map(" ".join)


def transitions(zone: str) -> list[datetime]:
    """Hours after which the clocks of a zone were changed, 2024 to 2030."""
    place, first = ZoneInfo(zone), datetime(2024, 1, 1, tzinfo=UTC)
    hours = [first + timedelta(hours=3 * n) for n in range(7 * 366 * 8)]
    offsets = [hour.astimezone(place).utcoffset() for hour in hours]
    return [hours[n] for n in range(1, len(hours)) if offsets[n] != offsets[n - 1]]


CHANGES = {zone: transitions(zone) or [datetime(2025, 1, 1, tzinfo=UTC)] for zone in ZONES}
starts = st.sampled_from(ZONES).flatmap(
    lambda zone: st.tuples(
        st.just(zone),
        st.one_of(
            st.builds(
                lambda change, back: change - timedelta(minutes=back),
                st.sampled_from(CHANGES[zone]),
                st.integers(0, 30 * 60),
            ),
            st.datetimes(NEW_YEAR, NEW_YEAR.replace(year=2030), timezones=st.just(UTC)),
        ),
    )
)


def parsed(expression: str) -> str | None:
    """The canonical form, None when no date fits; any other refusal fails the test."""
    try:
        return cron.parse(expression)
    except InvalidInput as error:
        if "never comes due" in error.message:
            return None
        raise


def repeats(moment: datetime, zone: ZoneInfo) -> bool:
    """Whether the clock shows this moment's time a second time later."""
    shown = moment.astimezone(zone)
    return shown.replace(fold=1).utcoffset() != shown.replace(fold=0).utcoffset()


@settings(max_examples=400, deadline=None, suppress_health_check=list(HealthCheck))
@given(expression=expressions, start=starts)
def test_cron_agrees_with_an_independent_implementation(expression, start):
    zone, moment = ZoneInfo(start[0]), start[1]
    canonical = parsed(expression)
    assume(canonical is not None)
    # In an hour that comes twice cronsim may answer with a moment before the start.
    assume(moment.astimezone(zone).fold == 0 and not repeats(moment, zone))
    oracle = CronSim(expression, moment.astimezone(zone))
    for _ in range(3):
        moment = cron.next_moment(canonical, moment, zone)
        assert moment == next(oracle).astimezone(UTC)


# Half an hour of summer time: cronsim starts these hours half way.
@pytest.mark.parametrize("start", ["2024-04-06T20:03", "2030-10-05T14:43", "2028-04-01T14:13"])
@pytest.mark.parametrize("expression", ["* 3 * * *", "*/17 1-2 * * *", "*/20 * * * *"])
def test_half_hour_summer_time_is_right_to_the_minute(expression, start):
    place = ZoneInfo("Australia/Lord_Howe")
    moment = local(start, place.key).astimezone(UTC)
    minutes, hours = CronSim(expression, NEW_YEAR).minutes, CronSim(expression, NEW_YEAR).hours
    walked = [moment + timedelta(minutes=n) for n in range(1, 2000)]
    expected = [
        m for m in walked
        if m.astimezone(place).minute in minutes and m.astimezone(place).hour in hours
    ]  # fmt: skip
    for due in expected[:100]:
        moment = cron.next_moment(cron.parse(expression), moment, place)
        assert moment == due


# -- a table of clock changes ----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("expression", "zone", "start", "expected"),
    [
        # Forward: a time that does not exist runs when the gap ends, once.
        ("30 2 * * *", "America/New_York", "2026-03-07T12:00",
         ["2026-03-08T03:00-04:00", "2026-03-09T02:30-04:00"]),
        ("15,45 2 * * *", "Europe/Berlin", "2027-03-27T12:00",
         ["2027-03-28T03:00+02:00", "2027-03-29T02:15+02:00"]),
        ("0 0 * * *", "America/Santiago", "2026-09-05T12:00",
         ["2026-09-06T01:00-03:00", "2026-09-07T00:00-03:00"]),
        ("0 3 * * *", "America/New_York", "2026-03-08T00:00", ["2026-03-08T03:00-04:00"]),
        ("*/30 * * * *", "America/New_York", "2026-03-08T01:00",
         ["2026-03-08T01:30-05:00", "2026-03-08T03:00-04:00"]),
        # Back: a named time runs at its first pass only, an interval at both.
        ("30 1 * * *", "America/New_York", "2026-10-31T12:00",
         ["2026-11-01T01:30-04:00", "2026-11-02T01:30-05:00"]),
        ("30 2 * * *", "Europe/Berlin", "2026-10-24T12:00",
         ["2026-10-25T02:30+02:00", "2026-10-26T02:30+01:00"]),
        ("0 * * * *", "America/New_York", "2026-11-01T00:30",
         ["2026-11-01T01:00-04:00", "2026-11-01T01:00-05:00", "2026-11-01T02:00-05:00"]),
        ("*/30 1 * * *", "America/New_York", "2026-11-01T00:00",
         ["2026-11-01T01:00-04:00", "2026-11-01T01:30-04:00",
          "2026-11-01T01:00-05:00", "2026-11-01T01:30-05:00", "2026-11-02T01:00-05:00"]),
        # A day that was left out, two hours of summer time, winter time that is negative.
        ("0 9 * * 5", "Pacific/Apia", "2011-12-28T00:00",
         ["2011-12-31T00:00+14:00", "2012-01-06T09:00+14:00"]),
        ("0 2 * * *", "Antarctica/Troll", "2027-03-27T12:00", ["2027-03-28T03:00+02:00"]),
        ("30 1 * * *", "Europe/Dublin", "2026-10-24T12:00",
         ["2026-10-25T01:30+01:00", "2026-10-26T01:30+00:00"]),
        ("0 9 * * 1-5", "Asia/Kolkata", "2026-12-05T00:00", ["2026-12-07T09:00+05:30"]),
    ],
)  # fmt: skip
def test_summer_time(expression, zone, start, expected):
    assert nexts(expression, zone, start, len(expected)) == expected


def test_an_expression_restricts_days_as_debians_cron_does():
    either = nexts("0 0 13 * 5", "UTC", "2026-11-01T00:00", 3)
    both = nexts("0 0 */2 * 5", "UTC", "2026-11-01T00:00", 3)
    assert [day[:10] for day in either] == ["2026-11-06", "2026-11-13", "2026-11-20"]
    assert [day[:10] for day in both] == ["2026-11-13", "2026-11-27", "2026-12-11"]


@pytest.mark.parametrize(
    ("text", "canonical"),
    [
        ("@daily", "0 0 * * *"),
        (" 0  9 * * MON-fri ", "0 9 * * 1-5"),
        ("0 0 * jan,Dec sat-sun", "0 0 * 1,12 6-7"),
        ("5-5 0 L * *", "5 0 l * *"),
        ("0 0 * * mon#2,SUN#1", "0 0 * * 1#2,0#1"),
        ("0 0 * * 0-0", "0 0 * * 0"),
        ("3-3/2 * * * *", "3 * * * *"),
    ],
)
def test_expressions_are_kept_in_one_form(text, canonical):
    assert cron.parse(text) == canonical


@pytest.mark.parametrize(
    "text",
    [
        "", "0 9 * *", "* * * * * *", "60 * * * *", "x * * * *", "*/0 * * * *", "*/70 * * * *",
        "0 22-2 * * *", "0 0 0 * *", "0 0 * 13 *", "0 0 * * 8", "@reboot", "h * * * *",
        "0 0 ? * 1", "0 0 15w * *", "0 0 * * fri-", "0 0 31 2 *", "1,,2 * * * *", "*-5 * * * *",
        "１ * * * *", "0 0 * * mon#6", "0 0 13 * mon#2", "0 0 * * mon#2,fri",
    ],
)  # fmt: skip
def test_a_bad_expression_is_refused_with_the_next_step(text):
    with pytest.raises(InvalidInput) as refused:
        schedule.cron(text, timezone="UTC")
    assert refused.value.hint


def test_a_misspelt_zone_is_refused_with_a_suggestion():
    with pytest.raises(InvalidInput, match="Europe/Berlin"):
        schedule.cron("@daily", timezone="Europe/Berln")


# -- intervals and moments -------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "seconds"), [("45s", 45), ("1h30m", 5400), ("2w", 1_209_600), ("1d12h", 129_600)]
)
def test_intervals(text, seconds):
    assert schedule.every(text, timezone="UTC").value == str(seconds)


@pytest.mark.parametrize("text", ["", "90", "1.5h", "30m1h", "0s", "-5m", "1d ago", "m", "9999w"])
def test_an_interval_is_read_strictly(text):
    with pytest.raises(InvalidInput):
        schedule.every(text, timezone="UTC")


def test_an_interval_stays_on_its_grid_however_late_a_look_comes():
    every = schedule.every("10m", timezone="UTC")
    anchor, step = 1_000_000_007, 600 * schedule.SECOND
    assert schedule.next_run(every, after=anchor, anchor=anchor) == anchor + step
    for late in (0, 1, step - 1, step, 7 * step + 3):
        due = schedule.next_run(every, after=anchor + late, anchor=anchor)
        assert due is not None
        assert (due - anchor) % step == 0
        assert 0 < due - (anchor + late) <= step


def test_a_moment_without_an_offset_is_in_the_tasks_zone():
    once = schedule.at("2027-07-01T09:00", timezone="Europe/Berlin")
    assert once.value == "2027-07-01T09:00:00+02:00"
    assert schedule.at("2027-07-01 07:00:00Z", timezone="Europe/Berlin") == once
    due = schedule.next_run(once, after=0)
    assert due is not None
    assert schedule.next_run(once, after=due) is None


@pytest.mark.parametrize("text", ["soon", "2027-01-31", "2027-13-01T00:00", "2027-W01-1", "12345"])
def test_a_moment_is_read_strictly(text):
    with pytest.raises(InvalidInput):
        schedule.at(text, timezone="UTC")


@pytest.mark.parametrize("days", [0, 1, 40, 1000])
def test_the_last_due_moment_is_found_after_any_pause(days):
    daily = schedule.cron("0 9 * * *", timezone="Europe/Berlin")
    first = schedule.micros(local("2026-11-01T09:00", "Europe/Berlin"))
    now = first + days * 86_400 * schedule.SECOND + 1
    last = schedule.last_due(daily, first=first, now=now)
    following = schedule.next_run(daily, after=last)
    assert following is not None
    assert last <= now < following


# -- in words --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("expression", "words"),
    [
        ("0 9 * * mon-fri", "at 09:00, Monday to Friday (UTC)"),
        ("*/15 * * * *", "every 15 minutes (UTC)"),
        ("@daily", "at 00:00, every day (UTC)"),
        ("@hourly", "every hour on the hour (UTC)"),
        ("0 */2 * * *", "every 2 hours on the hour (UTC)"),
        ("0 9,17 * * *", "at 09:00 and 17:00, every day (UTC)"),
        ("30 8 1 * *", "at 08:30, day 1 of the month (UTC)"),
        ("0 0 1 * 1", "at 00:00, day 1 of the month or Monday (UTC)"),
        ("0 0 l * *", "at 00:00, the last day of the month (UTC)"),
        ("0 0 * * mon#2", "at 00:00, the second Monday of the month (UTC)"),
        ("0 12 * jan,jun-aug *", "at 12:00, in January and June to August (UTC)"),
        ("*/5 9-17 * * 1-5", "every 5 minutes past hour 9 to 17, Monday to Friday (UTC)"),
    ],
)
def test_an_expression_is_said_in_words(expression, words):
    assert describe(schedule.cron(expression, timezone="UTC")) == words


def test_the_next_moment_is_shown_in_local_time():
    friday = schedule.micros(local("2026-12-04T12:00", "Europe/Berlin"))
    work = schedule.cron("0 9 * * mon-fri", timezone="Europe/Berlin")
    assert echo(work, now=friday) == (
        "at 09:00, Monday to Friday (Europe/Berlin), next Mon 2026-12-07 09:00 CET"
    )
    assert describe(schedule.every("1h30m", timezone="UTC")) == "every 1 hour and 30 minutes"
