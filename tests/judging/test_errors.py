"""Errors of services are typed; each edge words them with its own names of fields."""

from decimal import Decimal

import pytest

from judging.errors import ConflictingValue, InvalidValue
from judging.management.errors import command_error, option_name
from judging.models import Judge
from judging.runs.spec import RunSpec


def refused(judge=None, **fields):
    with pytest.raises((InvalidValue, ConflictingValue)) as caught:
        RunSpec(study_id=1, judge_id=1, **fields).check(judge or Judge(name="j"))
    return caught.value


@pytest.mark.parametrize(
    ("fields", "field", "code", "returncode"),
    [
        ({"samples": 0}, "samples", "out_of_range", 2),
        ({"samples": 101}, "samples", "out_of_range", 2),
        ({"limit": 0}, "limit", "too_small", 2),
        ({"token_budget": 0}, "token_budget", "too_small", 2),
        ({"budget": Decimal("NaN")}, "budget", "not_positive", 2),
        ({"budget": Decimal(0)}, "budget", "not_positive", 2),
        ({"budget": Decimal(1)}, "budget", "no_price", 1),
    ],
)
def test_a_value_is_refused_with_its_field_and_a_code(fields, field, code, returncode):
    error = refused(**fields)

    assert (error.field, error.code) == (field, code)
    assert "--" not in str(error)
    assert option_name(field) in str(command_error(error))
    assert command_error(error).returncode == returncode


def test_each_edge_names_the_fields_in_its_own_way():
    error = refused(samples=0)

    assert str(error) == "samples must be from 1 to 100, not 0."
    assert str(command_error(error)) == "--samples must be from 1 to 100, not 0."
    assert error.worded(lambda field: "“Samples”") == "“Samples” must be from 1 to 100, not 0."


def test_what_a_backend_cannot_do_is_refused_by_its_capability():
    error = refused(Judge(name="j", backend="replay"), by_batch=True)

    assert (error.field, error.code) == ("by_batch", "no_batches")
    assert str(command_error(error)).endswith("Leave --batch out.")
