"""Certificates: which items certify, what a passport holds, and why there is none."""

import json
from io import StringIO

import pytest
from django.core.management import call_command

from analysis.data.dataset import load_dataset
from analysis.data.verdicts import run_verdicts
from analysis.errors import BadParameters
from analysis.passports import BadPassport, NoSuchJudge, PassportError, checksum_of, read_passport
from extras.certificates.certifying import CertificateWish, certify
from extras.certificates.choices import SIGNALS, TARGETS
from extras.certificates.labelling import label
from extras.certificates.signals import NAMES, certifiable
from judging.models import Jury
from studies.models import Item, Persona
from tests.analysis.builders import answer, make_rater
from tests.analysis.labelled_items import judge_it, make_certifiable

pytestmark = pytest.mark.django_db


@pytest.fixture
def study():
    return make_certifiable(60)


def wish(**changes):
    return CertificateWish(**{"judge": "steady", "error": 0.1} | changes)


def test_a_judge_that_is_right_is_certified_and_its_passport_says_on_what(study):
    judge_it(study, certainty=lambda number: 90 if number % 3 else 60)

    passport = certify(study, wish()).passport

    assert passport["threshold"] == 50
    assert (passport["n"], passport["coverage"]) == (60, 1.0)
    assert passport["accepted"] == {"n": 60, "errors": 0}
    (judge,) = passport["judges"]
    assert (judge["name"], judge["model"]) == ("steady", "model of steady")
    assert judge["versions"] == [["model-2024-05-13", "fp_1"]]
    assert len(passport["protocol"]["prompt_hash"]) == 64
    assert passport["domain"]["topics"] == {"food": 60}
    assert len(passport["anchors"]) == 60
    anchor = passport["anchors"][1]
    item = Item.objects.get(study=study, key=anchor["item"])
    assert anchor["content_hash"] == item.content_hash
    assert anchor["answer"] == anchor["right"] == item.first_person
    assert anchor["readings"][0][0]["choice"] == item.first_person
    assert passport["guarantee"].startswith("With 90 % confidence at most 10 % of the answers")


def test_a_passport_can_be_read_again_and_not_changed(study):
    judge_it(study)
    text = certify(study, wish()).passport.text()

    assert read_passport(text).text() == text

    better = text.replace('"threshold": 50.0', '"threshold": 10.0')
    assert better != text
    with pytest.raises(BadPassport, match="changed after it was written"):
        read_passport(better)
    for wrong, why in (("", "not JSON"), ("[]", "not a passport"), ("{}", "not a passport")):
        with pytest.raises(BadPassport, match=why):
            read_passport(wrong)
    with pytest.raises(BadPassport, match="version 2"):
        read_passport(text.replace('"version": 1', '"version": 2'))
    content = json.loads(text)
    del content["anchors"]
    with pytest.raises(BadPassport, match="anchors"):
        read_passport(json.dumps(content))


def test_the_checksum_is_that_of_sorted_json_without_spaces():
    assert checksum_of({"b": 1, "a": "ä"}) == checksum_of({"a": "ä", "b": 1})
    assert checksum_of({}) == "44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a"


@pytest.fixture
def unequal():
    """Six personas with 30 items each, half of them wrong, and 60 with one right item each."""
    made = make_certifiable(240)
    personas = list(Persona.objects.filter(study=made).order_by("key"))
    for busy in range(6):
        here = [f"i{number:04}" for number in range(30 * busy, 30 * busy + 30)]
        Item.objects.filter(study=made, key__in=here).update(persona=personas[busy])
    judge_it(made, is_right=lambda number: number >= 180 or number % 2 == 0)
    return made


def anchors_of(passport):
    return {anchor["item"] for anchor in passport["anchors"]}


def test_a_certificate_by_item_is_not_given_by_the_many_personas_with_few_items(unequal):
    """37.5 % of the answers are wrong, and 4.5 % on average over personas."""
    by_item = certify(unequal, wish(error=0.2, by="item"))
    by_persona = certify(unequal, wish(error=0.2, by="persona")).passport

    assert by_item.passport is None
    assert "counting every item equally" in by_item.sentence
    assert "drawn from 240 labelled ones" in by_item.sentence
    assert "Counting by persona" in by_item.sentence
    assert "would draw 66 items instead of" in by_item.sentence
    assert (by_persona["by"], by_persona["n"]) == ("persona", 66)
    assert "counting every persona equally" in by_persona["guarantee"]
    assert "counting every persona equally" in label(unequal, by_persona).sentence


@pytest.mark.nightly
def test_by_default_the_design_decides_what_counts_equally(unequal, study, tmp_path):
    judge_it(study)
    options = {"judge": "steady", "out": tmp_path / "passport.json"}

    assert certify(study, wish()).passport["by"] == "item"  # one item for each persona
    assert certify(unequal, wish(error=0.2)).passport["by"] == "persona"
    out = StringIO()
    call_command("certify", unequal.slug, error=0.2, stdout=out, **options)
    assert "Every persona counts equally, because they have different numbers" in out.getvalue()


def test_a_certificate_for_which_nobody_said_what_counts_labels_no_unequal_personas(unequal):
    """37.5 % of these labels would be wrong, although at most 20 % were asked for."""
    by_design = certify(unequal, wish(error=0.2)).passport

    with pytest.raises(PassportError, match=r"more than 20 % of all labels can be wrong\. Certify"):
        label(unequal, by_design)
    assert by_design["by_design"] is True
    assert label(unequal, certify(unequal, wish(error=0.2, by="persona")).passport).lines


def test_the_same_items_give_the_same_draw_in_every_study_and_a_redraw_says_its_number(unequal):
    persona = wish(error=0.3, by="persona")
    first = certify(unequal, persona).passport
    unequal.seed += 1
    unequal.save(update_fields=["seed"])

    assert anchors_of(certify(unequal, persona).passport) == anchors_of(first)
    assert first["redraw"] == 0
    assert not unequal.log.filter(event="certificate drawn again").exists()
    again = certify(unequal, wish(error=0.3, by="persona", redraw=2)).passport
    assert anchors_of(again) != anchors_of(first)
    assert again["seed"] != first["seed"]
    assert "These items are redraw 2" in again["guarantee"]
    (logged,) = unequal.log.filter(event="certificate drawn again")
    assert logged.detail == {"judge": "steady", "redraw": 2}


def test_a_judge_that_errs_too_often_is_refused_with_the_labels_needed(study):
    judge_it(study, is_right=lambda number: number % 12 > 0)

    found = certify(study, wish())

    assert found.passport is None
    assert found.found.reason == "not_certified"
    assert found.needed > 60
    assert f"About {found.needed:,} labelled items" in found.sentence
    hopeless = certify(study, wish(error=0.05))
    assert hopeless.needed is None
    assert "No number of labels would be enough" in hopeless.sentence


def test_few_items_and_none_are_refused_in_words():
    few = make_certifiable(12)
    judge_it(few)
    assert "No threshold accepts 30 of them" in certify(few, wish()).sentence
    Item.objects.filter(study=few).update(first_person="")
    assert "No item has an answer" in certify(few, wish()).sentence


def test_choosing_among_several_takes_a_part_of_the_confidence(study):
    judge_it(study, is_right=lambda number: number > 1)

    assert certify(study, wish()).passport["among"] == 1
    assert certify(study, wish(among=20)).passport is None


def test_the_majority_of_annotators_can_be_the_target(study):
    """Annotators say r1 everywhere, so a judge that agrees with the personas is right on half."""
    judge_it(study)
    raters = [make_rater(study=study) for _ in range(3)]
    for item in Item.objects.filter(study=study):
        for rater in raters:
            answer(rater, item, "r1", position=int(item.key[1:]) + 1)

    assert certify(study, wish(target="first_person")).passport is not None
    assert certify(study, wish(target="majority")).passport is None
    Item.objects.filter(study=study).update(first_person="r2")
    of_people = certify(study, wish(target="majority", error=0.6)).passport
    assert "the annotators' majority" in of_people["guarantee"]
    assert "answered by these annotators" in of_people["guarantee"]


def test_several_runs_and_unknown_judges_are_refused_with_what_there_is(study):
    first, second = judge_it(study), judge_it(study, features="none")

    with pytest.raises(NoSuchJudge, match="2 runs") as error:
        certify(study, wish())
    assert first.public_id in str(error.value)
    assert certify(study, wish(features="none")).passport["protocol"]["features"] == "none"
    assert certify(study, wish(run=second.public_id)).passport["judges"][0]["run"] == second.key
    with pytest.raises(NoSuchJudge, match="no such run"):
        certify(study, wish(setting="tie"))
    with pytest.raises(NoSuchJudge, match="Judges: steady"):
        certify(study, wish(judge="nobody"))


@pytest.mark.parametrize(
    "wrong",
    [
        {"error": 0.0},
        {"confidence": 1.0},
        {"among": 0},
        {"anchors": 0},
        {"target": "nobody"},
        {"by": "nobody"},
        {"redraw": -1},
        {"signal": "mood"},
        {"signal": "stated*stated"},
        {"signal": "stated*entropy"},
    ],
)
def test_what_is_out_of_range_is_refused(study, wrong):
    with pytest.raises(BadParameters):
        certify(study, wish(**wrong))


def test_a_light_list_names_the_signals_and_targets():
    assert SIGNALS == NAMES
    for target in TARGETS:
        CertificateWish(judge="", target=target).check()


def split_orders(number, order):
    """Both orders agree on r1 except where the number is 0: there the choices differ."""
    share = {"r1": 0.9, "r2": 0.7}[order] if number else {"r1": 0.9, "r2": 0.2}[order]
    return {"r1": share, "r2": 1 - share}


def test_signals_from_both_orders_and_entropy_also_where_they_split():
    study = make_certifiable(40)
    Item.objects.filter(study=study).update(first_person="r1")
    run = judge_it(study, orders=("r1", "r2"), probabilities=split_orders)
    run.judgments.filter(item__key="i0000", shown_first="r2").update(choice="r2")
    data = load_dataset(study.slug)
    (stored,) = data.runs
    verdicts = run_verdicts(data, stored)

    answers, entropy = certifiable("entropy").read(data, stored, verdicts)
    _, orders = certifiable("orders").read(data, stored, verdicts)
    _, product = certifiable("stated*probabilities").read(data, stored, verdicts)

    assert verdicts.answer[0] == -1
    assert (answers[0], entropy[0].round(2)) == (0, 0.72)  # p = .55
    assert entropy[1] == pytest.approx(27.8, abs=0.05)  # p = .8
    assert (orders[1], product[1]) == (100, pytest.approx(72))
    found = certify(study, wish(signal="entropy")).passport
    assert (found["threshold"], found["n_all"]) == (1, 40)


def test_the_agreement_of_a_jury_certifies_the_jury():
    study = make_certifiable(50)
    runs = [judge_it(study, judge=name) for name in ("one", "two", "three")]
    runs[2].judgments.filter(item__key="i0000").update(choice="r2")
    jury = Jury.objects.create(study=study, name="Panel")
    jury.judges.set([run.judge for run in runs])

    passport = certify(study, wish(judge="Panel", signal="agreement")).passport

    assert passport.judge == passport["jury"] == "Panel"
    assert [judge["name"] for judge in passport["judges"]] == ["one", "three", "two"]
    assert len(passport["anchors"][0]["readings"]) == 3
    certainty = {anchor["item"]: anchor["certainty"] for anchor in passport["anchors"]}
    assert certainty["i0000"] == pytest.approx(66.666667)
