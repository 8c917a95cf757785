"""Self-preference in a report, from runs that were asked about a judge's own responses."""

import datetime as dt
import random

import pytest

from analysis.report.build import all_sentences, all_tables
from analysis.report.render import render_html
from studies.models import Item
from tests.analysis.builders import judge_item, make_run, random_study
from tests.analysis.partial import report_of
from tests.analysis.walking import faults
from tests.factories import stored_at_once

MIRROR = {"r1": "r2", "r2": "r1"}


@stored_at_once()
def asked_about_own(study, *, takes):
    """A run whose own response is r2 of every item but the last; it takes a share of them."""
    items = list(Item.objects.filter(study=study).order_by("key"))
    for item in items[:-1]:
        item.r1["generated_by"] = {"kind": "model", "name": "llama-3"}
        item.r2["generated_by"] = {"kind": "model", "name": "gpt-4", "family": "GPT"}
    Item.objects.bulk_update(items, ["r1", "r2"])
    run = make_run(
        study=study,
        judge="vain",
        bias_probe="own-responses",
        parameters={"own_sources": ["gpt"]},
    )
    rng = random.Random(4)
    for item in items[:-1]:
        own = rng.random() < takes
        judge_item(run, item, "r2" if own else item.first_person or "r1", 70)
    judge_item(run, items[-1], state="skipped")
    return items[:-1]


@pytest.mark.django_db
def test_own_responses_have_their_rows_and_change_nothing_else():
    study = random_study(3, n_items=96, n_personas=24, n_raters=12)
    before = report_of(study)

    items = asked_about_own(study, takes=0.7)
    report = report_of(study)

    [entry] = report["bias"]["own"]
    assert (entry["judge"], entry["sources"], entry["items"]) == ("vain", ["family GPT"], 95)
    answered = [item for item in items if item.first_person in MIRROR]
    own = entry["own"]
    assert (own["n"], own["gold"]["correct"]) == (
        len(answered),
        sum(item.first_person == "r2" for item in answered),
    )
    assert own["dbg"]["value"] == pytest.approx(own["chosen"]["value"] - own["gold"]["value"])
    assert own["missed"]["value"] == 0
    assert own["bias"]["value"] == own["taken"]["value"] > 0.5
    assert own["bias"]["p_holm"] < 0.01
    assert entry["people"]["n"] > 0
    [words] = [str(one.text) for one in all_sentences(report, "finding") if "vain" in str(one.text)]
    assert words.startswith(f"On {own['n']} pairs with one response of its own, vain chooses it in")
    assert "Its errors favour its own responses" in words
    assert len(all_tables(report)["own_responses"].rows) == 2
    page = render_html(report, date=dt.date(2026, 5, 1))
    assert "Whether judges prefer their own responses" in page
    assert not faults({"bias": report.pop("bias")})
    assert before["inputs"].pop("hash") != report["inputs"].pop("hash")
    report.pop("systems", None)
    before.pop("claims_tested"), report.pop("claims_tested")
    assert report == before
