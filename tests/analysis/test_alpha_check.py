"""Alpha by the package krippendorff next to our own, in report.json and in words."""

import datetime

import pytest

from analysis.report.render import render_html
from analysis.report.sections.agreement import coefficients
from analysis.report.sections.agreement.coefficients import check_words
from tests.analysis.builders import random_study
from tests.analysis.partial import report_of

pytestmark = pytest.mark.django_db


def page_of(report):
    return render_html(report, date=datetime.date(2026, 11, 20))


@pytest.mark.nightly
@pytest.mark.parametrize("allow_tie", [False, True])
def test_both_programs_agree_on_choices_and_certainty(allow_tie):
    report = report_of(random_study(3, allow_tie=allow_tie))

    found = report["human"]["agreement"]
    check = found["alpha_check"]
    assert check["choices"]["value"] == pytest.approx(
        found["krippendorff_alpha"]["value"], abs=1e-12
    )
    assert check["certainty"]["value"] == pytest.approx(found["certainty_alpha"], abs=1e-12)
    assert check["choices"]["agrees"] is check["certainty"]["agrees"] is True
    name = f"krippendorff {check['version']}"
    assert (
        check_words(report)
        == f"The package {name} computes the same alpha of choices and of certainty."
    )
    assert check_words(report) in page_of(report)


@pytest.mark.nightly
def test_a_study_with_too_many_answers_says_that_alpha_was_not_computed_again(monkeypatch):
    monkeypatch.setattr(coefficients, "MAX_CERTAINTIES", 10)

    report = report_of(random_study(3))

    check = report["human"]["agreement"]["alpha_check"]
    assert check["choices"]["agrees"] is True
    assert (check["certainty"]["value"], check["certainty"]["agrees"]) == (None, None)
    assert check["certainty"]["value_reason"] == "too_large"
    assert check_words(report).endswith(
        "Alpha of certainty was not checked with the package krippendorff, because there "
        "are more than 10 answers."
    )


@pytest.mark.nightly
def test_a_disagreement_is_shown_at_the_top_of_the_page_and_in_the_chapter(monkeypatch):
    monkeypatch.setattr(coefficients, "_alpha", lambda *arguments: 0.25)

    report = report_of(random_study(3))

    ours = report["human"]["agreement"]["krippendorff_alpha"]["value"]
    assert report["human"]["agreement"]["alpha_check"]["choices"] == {
        "value": 0.25,
        "agrees": False,
    }
    sentence = f"computes a different alpha of choices: 0.250000 instead of {ours:.6f}".replace(
        "-", "−"
    )
    top, _, rest = page_of(report).partition('id="accuracy"')
    assert sentence in top
    assert sentence in rest
