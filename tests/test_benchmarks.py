"""Benchmarks run within their time, and what they print is kept."""

import numpy as np

from analysis.report.build import build_report
from benchmarks import __main__ as benchmarks
from benchmarks import claims


def test_all_benchmarks_take_less_than_fifteen_minutes():
    names = [name for name in benchmarks.available() if name not in benchmarks.BY_NAME]
    planned = [benchmarks.SHORT.get(name, benchmarks.OTHERS) for name in names]

    assert benchmarks.available()[0] == "peers"
    assert sum(short.seconds for short in planned) < 1000  # They are ended after 14.5 minutes.


def test_text_is_fenced_and_a_table_is_not():
    assert benchmarks.page("Today.", "1.5 answers\n") == "Today.\n\n```\n1.5 answers\n```\n"
    assert benchmarks.page("Now.", "| a |\n| --- |\n| 1 |\n") == "Now.\n\n| a |\n| --- |\n| 1 |\n"


def test_claims_of_a_whole_report_are_read_from_all_kinds_of_chapters():
    report = build_report(
        claims.simulated(np.random.default_rng((claims.SEED, 1, 0)), claims.EFFECT),
        seed=0,
        bootstrap=20,
    )

    found = claims.claims_of(report)

    kinds = {kind["kind"]: kind["hold"] for kind in report["claims_tested"]["kinds"]}
    assert {kind for kind, *_ in found} == {kind for kind, hold in kinds.items() if hold}
    assert any(map(claims.is_planted, found))
    assert not any(map(claims.is_reversed, found))
