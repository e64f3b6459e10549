"""Times: UTC as users give it, and TDB, the uniform time that orbits are computed in.

::

    TDB - UTC = 32.184 s + (TAI - UTC)        TT for TDB: they differ by less than 2 ms (periodic)

A ``start`` is a ``datetime`` (one without a zone is taken as UTC); the times beside it are seconds that pass after
it. Within 2 ms a planet moves 100 m, which is 0.3 us of light time. Leap seconds: IERS Bulletin C. None has been
announced after 2017; one more would shift an answer for a date after it by 1 s of the bodies' motion (Mars: at most
60 us of light time).
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

J2000 = datetime(2000, 1, 1, 12, tzinfo=UTC)
"""Epoch of the elements (12:00 TDB) and of Earth's rotation (12:00 UT1)."""
DAY_S = 86_400.0
CENTURY_S = 36_525 * DAY_S
TT_MINUS_TAI_S = 32.184
LEAP_SECONDS: tuple[tuple[datetime, int], ...] = tuple(
    (datetime.fromisoformat(f"{month}-01T00:00:00+00:00"), 10 + count)
    for count, month in enumerate(
        [
            "1972-01",
            "1972-07",
            "1973-01",
            "1974-01",
            "1975-01",
            "1976-01",
            "1977-01",
            "1978-01",
            "1979-01",
            "1980-01",
            "1981-07",
            "1982-07",
            "1983-07",
            "1985-07",
            "1988-01",
            "1990-01",
            "1991-01",
            "1992-07",
            "1993-07",
            "1994-07",
            "1996-01",
            "1997-07",
            "1999-01",
            "2006-01",
            "2009-01",
            "2012-07",
            "2015-07",
            "2017-01",
        ]
    )
)
"""From when on TAI - UTC is how many seconds; each row adds one."""


def utc(moment: datetime) -> datetime:
    """``moment`` with its time zone; UTC if it has none."""
    return moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)


def tai_minus_utc_s(moment: datetime) -> int:
    """Leap seconds by then; before 1972 there were none, and the first count is returned."""
    at = utc(moment)
    return next((count for since, count in reversed(LEAP_SECONDS) if at >= since), LEAP_SECONDS[0][1])


def tdb_s(moment: datetime) -> float:
    """Seconds of TDB since J2000 (2000-01-01 12:00 TDB)."""
    return (utc(moment) - J2000).total_seconds() + tai_minus_utc_s(moment) + TT_MINUS_TAI_S


def utc_of_tdb(moment: datetime) -> datetime:
    """The UTC at which clocks of TDB show ``moment``, to the microsecond. Raises ``ValueError`` if it has a zone."""
    if moment.tzinfo is not None:
        raise ValueError("TDB has no zones")
    shown = moment.replace(tzinfo=UTC) - timedelta(seconds=TT_MINUS_TAI_S)
    guess = shown - timedelta(seconds=tai_minus_utc_s(shown))
    return shown - timedelta(seconds=tai_minus_utc_s(guess))


def ut1_s(moment: datetime) -> float:
    """Seconds of UT1 since 2000-01-01 12:00 UT1, by UTC: they differ by less than 0.9 s, 0.004 degrees of rotation."""
    return (utc(moment) - J2000).total_seconds()


def iso(moment: datetime) -> str:
    """The date as messages print it: ``2026-11-21T00:00:00Z``."""
    return utc(moment).strftime("%Y-%m-%dT%H:%M:%SZ")
