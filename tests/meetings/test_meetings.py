"""Small studies in which every feature meets every other one, from the items to the last export."""

import zlib

import pytest

from tests.analysis.builders import assert_verified
from tests.factories import sign_in
from tests.invariants import broken_invariants
from tests.judging.conftest import engine, llm  # noqa: F401
from tests.meetings import whole_way
from tests.meetings.building import Building
from tests.meetings.covering import pairs_of
from tests.meetings.rows import FACTORS, cases, may, name_of, rows


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "row" in metafunc.fixturenames:
        metafunc.parametrize("row", cases(metafunc.config, few=3))


def test_every_two_values_that_may_meet_do():
    tried = rows()
    met = {pair for row in tried for pair in pairs_of(row)}

    assert all(may(row) for row in tried)
    for name, values in FACTORS.items():
        for other in set(FACTORS) - {name}:
            for pair in [((name, a), (other, b)) for a in values for b in FACTORS[other]]:
                wanted = dict(pair)
                # What is left out is refused with some third value, which no row can do without.
                assert (
                    tuple(sorted(pair)) in met
                    or not may(wanted)
                    or wanted.get("perspective") == "own"
                ), wanted


@pytest.mark.usefixtures("added_files")
def test_a_study_goes_the_whole_way(row, llm, engine, tmp_path, settings):  # noqa: F811
    settings.VAR_DIR = tmp_path / "var"
    settings.VAR_DIR.mkdir()

    study = Building(row, llm, tmp_path).build()
    report = whole_way.built(study)
    out = whole_way.exported(study, tmp_path, zlib.crc32(name_of(row).encode()))

    assert whole_way.faults_of_pages(study, report, sign_in(study, "owner")) == []
    assert whole_way.recounted(report, out) == []
    assert_verified(report.public_id)
    whole_way.comes_back(study, tmp_path / "back")
    assert broken_invariants(*whole_way.CHECKS) == []
