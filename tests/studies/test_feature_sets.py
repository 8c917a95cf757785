"""The named sets of features: found by their meaning in each data set, or refused."""

import pytest

from analysis.data.dataset import load_dataset
from analysis.data.judgment_rows import judgment_rows
from judging.pages.campaign_forms import features_for
from studies.errors import StudyError
from studies.personas import NAMED_SETS, known_keys, resolve
from tests.analysis.builders import judge_item, make_run
from tests.factories import make_item, make_persona, make_study

pytestmark = pytest.mark.django_db

PRISM = list(NAMED_SETS["table6"])
OPINIONQA = ["region", "age", "sex", "education", "marital_status", "religion", "politics"]
EC = ["sex", "education", "ethnicity", "age", "income"]
OTHER = ["location", "race", "education"]


def study_with(keys: list[str]):
    study = make_study()
    features = [{"key": key, "label": key, "value": "x", "text": f"{key}: x"} for key in keys]
    make_item(study=study, persona=make_persona(study=study, features=features))
    return study


def test_features_of_practice_items_are_no_features_to_ask_about():
    study = study_with(["age"])
    hobby = [{"key": "hobby", "label": "Hobby", "value": "x", "text": "Hobby: x"}]
    make_item(study=study, split="practice", persona=make_persona(study=study, features=hobby))

    assert known_keys(study) == {"age"}


@pytest.mark.parametrize(
    ("known", "name", "shown"),
    [
        (PRISM, "three_paper", ["residence_country", "education", "ethnicity"]),
        ([*OPINIONQA, "ethnicity"], "three_paper", ["region", "education", "ethnicity"]),
        (OTHER, "three_paper", ["location", "education", "race"]),
        (OPINIONQA, "three_code", ["age", "education", "politics"]),
        (PRISM, "table6", PRISM),
    ],
)
def test_a_set_is_found_by_what_its_features_mean(known, name, shown):
    study = study_with(known)

    assert resolve(study, name) == shown
    assert name in [each for each, _ in features_for(study, known_keys(study))]


@pytest.mark.parametrize(
    ("known", "name", "missing"),
    [
        (EC, "three_paper", "residence_country"),
        (OPINIONQA, "three_paper", "ethnicity"),
        (PRISM, "three_code", "politics"),
        (EC, "table6", "employment"),
    ],
)
def test_a_set_with_a_missing_feature_is_refused(known, name, missing):
    study = study_with(known)

    with pytest.raises(StudyError, match=f"has “{missing}” of the set “{name}”") as refused:
        resolve(study, name)

    assert ", ".join(sorted(known)) in str(refused.value)
    assert name not in [each for each, _ in features_for(study, known_keys(study))]


def test_shown_features_are_compared_with_requested_ones():
    study = make_study()
    feature = {"key": "age", "label": "Age", "value": "30", "text": "Age: 30"}
    other = {"key": "region", "label": "Region", "value": "South", "text": "South"}
    both = make_item(
        study=study, key="a", persona=make_persona(study=study, features=[feature, other])
    )
    one = make_item(study=study, key="b", persona=make_persona(study=study, features=[feature]))
    asked = {"features": "age,region", "feature_keys": ["age", "region"]}
    run = make_run(study=study, **asked)
    hidden = make_run(study=study, judge="hidden", framing="neutral", **asked)
    for each in (run, hidden):
        judge_item(each, both, "r1", 80)
        judge_item(each, one, "r1", 80)

    shown = {
        (row["judge"], row["item_id"]): row["persona_features_shown"]
        for row in judgment_rows(study)
    }

    assert shown["steady", "a"] == ["age", "region"]
    assert shown["steady", "b"] == ["age"]
    assert shown["hidden", "a"] == []
    found = {each.judge: each.conditions for each in load_dataset(study.slug).runs}
    assert "1 of 2 personas lack the requested feature “region”." in found["steady"]
    assert found["hidden"] == ()
