"""Plain Python counts the mistakes that people and judges have in common again."""

import pytest

from tests.analysis import brute_force_sides as by_side
from tests.analysis.brute_force import kappa
from tests.analysis.recomputed.comparing import same
from tests.analysis.recomputed.conftest import of_scope

pytestmark = [pytest.mark.django_db, pytest.mark.computed]
study, report, counted = of_scope("module", "module_db")


@pytest.mark.nightly
def test_the_same_mistakes(report, counted):
    for versus in report["comparison"]:
        own = counted.judges[versus["run"]]
        found, expected = versus["same_mistakes"], by_side.mistakes(own, counted.people)
        assert {key: found[key] for key in expected} == expected
        common = [key for key in own if key in counted.people]
        right = [(int(own[key][0]), int(counted.people[key][0])) for key in common]
        assert same(found["kappa"], kappa(right))
