"""Benchmarks run within their time, and what they print is kept."""

import numpy as np
import pytest

from analysis.report.build import build_report
from annotation import services
from annotation.models import QuotaGroup
from annotation.seats.quotas import Quota, set_quotas
from benchmarks import __main__ as benchmarks
from benchmarks import arrivals, claims
from studies.models import Item
from tests.factories import answer_all, make_items, make_study, walk_in


def test_all_benchmarks_take_less_than_fifteen_minutes():
    names = [name for name in benchmarks.available() if name not in benchmarks.BY_NAME]
    planned = [benchmarks.SHORT.get(name, benchmarks.OTHERS) for name in names]

    assert benchmarks.available()[0] == "peers"
    assert sum(short.seconds for short in planned) < 1000  # They are ended after 14.5 minutes.


@pytest.mark.django_db
def test_a_seat_or_a_place_too_few_or_too_many_is_found_after_arrivals(capsys):
    study = make_study(slug=arrivals.LINK, annotations_per_item=1, items_per_annotator=1)
    make_items(study, 3)
    set_quotas(study_id=study.pk, questions=[], groups=[Quota(3)])

    def wrong() -> int:
        arrivals.differences()
        return int(capsys.readouterr().out)

    people = [walk_in(study) for _ in range(3)]
    assert wrong() == 4  # no item is answered, and nobody fills a place
    for person in people:
        answer_all(person)
        services.complete(annotator_id=person.pk)
    assert wrong() == 0
    Item.objects.filter(pk=study.all_items.first().pk).update(answered=0)
    QuotaGroup.objects.update(completed=4, target=4)
    assert wrong() == 2


def test_text_is_fenced_and_a_table_is_not():
    assert benchmarks.page("Today.", "1.5 answers\n") == "Today.\n\n```\n1.5 answers\n```\n"
    assert benchmarks.page("Now.", "| a |\n| --- |\n| 1 |\n") == "Now.\n\n| a |\n| --- |\n| 1 |\n"


@pytest.mark.nightly
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
