"""The header Retry-After as servers send it."""

from datetime import UTC, datetime, timedelta
from email.utils import format_datetime

import pytest

from studies.network import seconds_to_wait


@pytest.mark.parametrize(
    ("value", "seconds"),
    [
        ("7", 7),
        ("1.5", 1.5),
        ("0", 0),
        ("Wed, 21 Oct 2015 07:28:00 GMT", 0),
        ("Wed, 21 Oct 2015 07:28:00 -0000", 0),
        ("soon", None),
        ("-3", None),
        ("nan", None),
        ("inf", None),
        ("", None),
        (None, None),
    ],
)
def test_numbers_and_dates_become_seconds_and_other_values_none(value, seconds):
    assert seconds_to_wait(value) == seconds


def test_a_date_to_come_is_the_time_until_then():
    date = datetime.now(UTC) + timedelta(hours=1)

    assert 3500 < seconds_to_wait(format_datetime(date)) <= 3600


@pytest.mark.parametrize("unit", [1.0, 0.001])
@pytest.mark.parametrize("scale", [1, 1000])
def test_a_number_that_is_a_time_is_the_time_until_then(unit, scale):
    later = datetime.now(UTC) + timedelta(hours=1)

    assert 3500 < seconds_to_wait(str(int(later.timestamp() * scale)), unit=unit) <= 3600
    assert seconds_to_wait(str(1_600_000_000 * scale), unit=unit) == 0
