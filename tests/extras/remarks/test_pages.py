"""The page of remarks, what needs the researcher, files, exports, and turning off."""

import json

import pytest
from django.core.management import call_command

from annotation.models import Annotator
from extras.remarks.flagged import FLAGGED, flag_needs, flagged_items
from extras.remarks.models import RemarkQuestions, Remarks
from extras.remarks.setup import FILE, values_in
from studies.errors import StudyError
from studies.models import Item, Study
from studies.services.whole_studies import delete_rows
from studies.study_folder import Folder
from tests.analysis.builders import answer, make_rater
from tests.extras.remarks.remarking import ALL, make_remarking_study
from tests.extras.turning_off import refusal, turn_off
from tests.factories import make_study, store

pytestmark = pytest.mark.django_db


def flag(study, items):
    """One more person flags these items and no other."""
    rater = make_rater(study=study)
    for item in Item.objects.filter(study=study):
        kind = "same" if item in items else ""
        store(Remarks(answer=answer(rater, item, "r1"), revision=1, flag=kind, others=50))


def test_what_annotators_can_remark_is_chosen_on_a_page_until_the_first_answer(admin_client):
    study = make_remarking_study(asked=dict.fromkeys(ALL, False))
    address = f"/studies/{study.slug}/remarks/"
    page = admin_client.get(address)
    version = page.context["form"]["version"].value()

    saved = admin_client.post(address, {"flags": "on", "version": version})
    late = admin_client.post(address, {"others": "on", "version": version})

    assert saved.status_code == 302
    assert values_in(study) == {"flags": True, "either": False, "others": False, "results": False}
    assert late.status_code == 422
    assert "Someone else changed" in late.content.decode()


def test_an_item_that_two_people_flag_needs_the_researcher_until_it_is_out():
    study = make_remarking_study(items=3)
    first, second, _ = Item.objects.filter(study=study)
    flag(study, [first, second])
    assert [*flag_needs(study)] == []
    flag(study, [first])

    [need] = flag_needs(study)

    assert need.sentence == (f"2 people flagged item {first.key}: both responses are the same (2).")
    assert need.address.endswith(f"?item={first.key}")
    assert [item.people for item in flagged_items(study)] == [2, 1]
    Item.objects.filter(pk=first.pk).update(split=Item.Split.LEFT_OUT)
    assert [*flag_needs(study)] == []


def test_flags_of_several_items_lead_to_their_list(admin_client):
    study = make_remarking_study(items=3)
    for _ in range(2):
        flag(study, Item.objects.filter(study=study)[:2])

    [need] = flag_needs(study)

    assert need.sentence.startswith("2 items are flagged by at least 2 people")
    page = admin_client.get(need.address).content.decode()
    assert page.count("both responses are the same (2)") == 2
    chosen = FLAGGED.items(study, "")
    assert chosen is not None
    assert [item.key for item in Item.objects.filter(pk__in=chosen)] == [
        item.key for item in flagged_items(study)
    ]
    assert FLAGGED.items(study, "other") is None
    assert FLAGGED.items(make_study(), "") is None


def test_copies_and_files_of_a_study_ask_the_same(tmp_path):
    study = make_remarking_study(asked={"others": False})
    file, again = tmp_path / FILE.file, make_study()
    file.write_text(FILE.write(study)[FILE.file])

    FILE.apply(again, Folder(tmp_path), FILE.file, user=None)

    assert values_in(again) == {"flags": True, "either": True, "others": False, "results": False}
    file.write_text('flags = "yes"\n')
    with pytest.raises(StudyError, match="flags"):
        FILE.apply(again, Folder(tmp_path), FILE.file, user=None)


def test_a_deleted_study_leaves_no_remarks():
    study = make_remarking_study()
    flag(study, Item.objects.filter(study=study)[:1])

    delete_rows(study)

    assert not Remarks.objects.exists()
    assert not RemarkQuestions.objects.exists()


def test_the_export_has_a_row_for_each_answer_without_names(tmp_path):
    study = make_remarking_study()
    flag(study, Item.objects.filter(study=study)[:1])
    out = tmp_path / "remarks.jsonl"

    call_command("export", study.slug, "--what", "remarks", "--format", "jsonl", "--out", out)

    rows = [json.loads(line) for line in out.read_text().splitlines()]
    assert sorted((row["flag"] or "", row["others"]) for row in rows) == [("", 50), ("same", 50)]
    assert {row["rater_id"] for row in rows}.isdisjoint(
        Annotator.objects.values_list("pseudonym", flat=True)
    )


def test_remarks_that_are_asked_keep_the_extra_on_until_the_study_is_closed():
    study = make_remarking_study()
    Study.objects.update(state="open")
    assert refusal(study, "remarks").endswith("Close the study first.")

    Study.objects.update(state="closed")
    turn_off(study, "remarks")
