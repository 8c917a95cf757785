"""Marks of numbers without a plan, and settings that were changed after the first answer."""

from datetime import date, timedelta

import pytest
from django.utils import timezone

from analysis.data.dataset import load_dataset
from analysis.report.build import all_tables, analyses, build_report, sections
from analysis.report.registration import mark_of, table_mark
from analysis.report.render import render_html
from analysis.report.results import late_changes
from analysis.report.rules import analysis_titles
from analysis.report.section import of_extras
from studies.models import Item, Study, StudyLog
from studies.services.extras import turn_on
from studies.services.settings import save_settings
from tests.analysis.builders import little_study, random_study

pytestmark = pytest.mark.django_db


def built(study, **options):
    return build_report(load_dataset(study.slug), **{"seed": 20240701, "bootstrap": 100} | options)


def test_without_a_plan_every_number_is_explored():
    report = built(little_study(31))

    found = report["registration"]
    assert (found["plan"], found["plan_reason"]) == (None, "no_plan")
    assert {entry["mark"] for entry in found["analyses"]} == {"explored"}
    assert mark_of(report, ["human", "majority", "accuracy"]) == "explored"
    assert table_mark(report, all_tables(report)["table_b"]) is None


def test_the_analyses_that_pages_list_are_those_of_the_sections():
    assert sorted(analysis_titles()) == sorted(analysis.code for analysis in analyses())


def test_every_path_of_the_catalogue_is_in_a_report():
    study = random_study(39, n_personas=24)
    advice = {"kind": "advice", "title": "", "text": "Take the first.", "favors": "r1"}
    Item.objects.filter(study=study).update(advice=advice)
    report = built(study)

    missing = [
        pattern
        for section in sections()
        for analysis in section.analyses
        for pattern in analysis.paths
        # Chapters of extras may need data that no other study has.
        if section not in of_extras() or pattern.partition(".")[0] in report
        if not leads_somewhere(report, pattern.split("."))
    ]
    assert missing == []


def leads_somewhere(value, keys) -> bool:
    """Whether a path is there; `*` is any entry, as some runs have what others have not."""
    if not keys:
        return True
    key, *rest = keys
    if key == "*":
        return any(leads_somewhere(entry, rest) for entry in value)
    return key in value and leads_somewhere(value[key], rest)


def read_otherwise(study, **settings):
    """Save settings as the pages do."""
    for name, value in settings.items():
        setattr(study, name, value)
    save_settings(study, changed=list(settings))


def test_a_threshold_and_a_margin_changed_after_the_first_answer_are_told_beside_the_numbers():
    study = little_study(1)
    read_otherwise(study, certainty_threshold=60)  # nothing has been answered: frozen_at is None
    study.frozen_at = timezone.now()
    study.save()
    before = built(study)

    read_otherwise(study, certainty_threshold=70, equivalence_margin=0.1)
    after = built(study)

    day = f"{timezone.now():%Y-%m-%d}"
    assert late_changes(before) == []
    assert before["parameters"]["threshold_chosen"] == "before the data"
    assert all_tables(before)["table_b"].threshold == "60, set before the data"
    assert after["registration"]["late_changes"] == [
        {"setting": "threshold", "before": 60, "after": 70, "on": day},
        {"setting": "margin", "before": 0.05, "after": 0.1, "on": day},
    ]
    assert after["parameters"]["threshold_chosen"] == "post hoc"
    assert all_tables(after)["table_b"].threshold == "70, changed after the first data"
    assert len(late_changes(after)) == 2
    assert before["inputs"]["hash"] != after["inputs"]["hash"]


def test_the_report_says_which_extras_were_turned_on_after_answers_or_a_report():
    study = little_study(31)
    study.extras = []
    save_settings(study, changed=["extras"])
    StudyLog.objects.filter(study=study).update(created_at=timezone.now() - timedelta(days=3))
    Study.objects.update(frozen_at=timezone.now() - timedelta(days=1))
    study.refresh_from_db()
    turn_on(study, "certificates", "prolific_tools")

    report = built(study)

    assert report["study"]["extras"] == ["certificates", "prolific_tools"]
    # Recruiting tools change no result.
    (late,) = report["registration"]["late_extras"]
    assert (late["name"], late["after_report"]) == ("certificates", False)
    assert [str(text) for text in late_changes(report)] == [
        f"“{late['title']}” was turned on after the first answer, on {late['on']}. "
        "What it adds was decided after the data."
    ]
    page = render_html(report, date=date(2026, 11, 30))
    assert page.count("was turned on after") == page.count("No analysis plan was frozen") == 1
    report["registration"]["late_extras"] *= 2
    [both] = map(str, late_changes(report))
    assert " were turned on after " in both
    assert both.endswith("What they add was decided after the data.")


def test_what_is_off_is_not_computed_or_shown():
    study = little_study(31)
    everything = built(study)
    study.extras = []
    save_settings(study, changed=["extras"])

    plain = built(study)

    assert plain["study"]["extras"] == []
    assert set(all_tables(plain)) < set(all_tables(everything))
    assert set(plain) < set(everything)
