"""What people and models write ends its lines with LF, and no list of it begins a row."""

import pytest
from django.core.management import CommandError, call_command
from django.urls import reverse

from annotation.models import Annotator
from judging.models import Judge, Judgment
from judging.runs.spec import RunSpec
from judging.runs.start import start_run
from tests.annotation.pages.walking import answer_all, start
from tests.factories import make_item, make_study, sign_in
from tests.judging.conftest import make_judge
from tests.studies.hostile import HOSTILE, looks_like_a_formula, rows_of

NOWHERE = "http://127.0.0.1:9/v1"

pytestmark = pytest.mark.django_db


def test_a_comment_is_kept_with_plain_ends_of_lines(client):
    study = make_study()
    make_item(study=study)
    start(study, client=client)
    answer_all(client, study)

    client.post(f"/s/{study.slug}/feedback/", {"comments": "one\r\ntwo\r=1+1"})

    assert Annotator.objects.get().feedback == "one\ntwo\n=1+1"


@pytest.mark.sampled(keep=1)
@pytest.mark.parametrize("column", ["raw_text", "model_snapshot"])
def test_no_reply_or_name_of_a_model_begins_a_row_of_a_list(column):
    study = make_study()
    texts = [text.replace("\x00", "") for text in HOSTILE]
    for number, _ in enumerate(texts):
        make_item(study=study, key=f"i{number}")
    run = start_run(
        RunSpec(study_id=study.pk, judge_id=make_judge(base_url=NOWHERE).pk), enqueue=False
    )
    for number, text in enumerate(texts):
        about = {"state": "done", "choice": "r1", column: text}
        Judgment.objects.filter(run=run, item__key=f"i{number}").update(**about)

    address = reverse("judging:run", args=[study.slug, run.public_id])
    rows = rows_of(sign_in(study, "viewer").get(f"{address}?format=csv").content.decode())

    assert len(rows) == 1 + len(texts)
    assert {len(row) for row in rows} == {13}
    assert not [cell for row in rows for cell in row if looks_like_a_formula(cell)]


@pytest.mark.parametrize("option", ["name", "model"])
def test_a_judge_has_a_name_of_one_line(option):
    words = {"name": "judge", "model": "m"} | {option: "fine\r=1+1"}

    with pytest.raises(CommandError, match=f"--{option} .*cannot be shown"):
        call_command(
            "add_judge",
            words["name"],
            "--backend",
            "openai",
            "--model",
            words["model"],
            "--base-url",
            NOWHERE,
        )
    assert not Judge.objects.exists()


def test_a_reply_comes_in_with_plain_ends_and_as_it_was_before_an_export(tmp_path):
    study = make_study()
    make_item(study=study, key="a")
    path = tmp_path / "judgments.csv"
    path.write_text('item_id,choice,raw_text\na,r1,"\'=1+1\r\nAnswer\rA"\n', newline="")

    call_command("import_judgments", study.slug, path, "--judge", "gpt")

    assert Judgment.objects.get().raw_text == "=1+1\nAnswer\nA"
