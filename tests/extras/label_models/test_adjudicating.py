"""Split items go to experts, who decide them blind, until the adjudication is closed."""

import json

import pytest
from django.core.management import CommandError, call_command
from django.test import Client

from extras.label_models.adjudicating import (
    add_expert,
    decide,
    end_expert,
    import_decisions,
    rule_of,
    send_items,
    set_closed,
)
from extras.label_models.labels import label_rows
from extras.label_models.models import Adjudication, Expert, ExpertDecision, SplitItem
from extras.label_models.pages import expert_needs
from extras.label_models.rule_file import FILE
from extras.label_models.splitting import split_now
from studies.errors import StudyError
from studies.importers.files.bundle import file_at
from studies.importers.files.faults import Refused
from studies.models import Item, Membership, Study
from studies.services.whole_studies import copy_study, delete_rows
from studies.study_folder import Folder
from tests.extras.label_models.splits import keys_of, make_split_study, sent, use
from tests.extras.turning_off import refusal, turn_off
from tests.factories import make_study, sign_in
from tests.studies.media_files import needs_media, picture, stored_picture

pytestmark = pytest.mark.django_db


def link_of(expert, key, place=""):
    return f"/adjudicate/{expert.public_id}/{place}?key={key}"


def decisions(expert):
    return dict(ExpertDecision.objects.filter(expert=expert).values_list("item__key", "choice"))


@pytest.mark.parametrize(
    ("rule", "split"),
    [
        ({}, {"even": "no_majority"}),
        ({"below": 80}, {"even": "no_majority", "small": "share"}),
        ({"below": 100}, {"even": "no_majority", "small": "share"}),
        ({"no_majority": False, "below": 76}, {"even": "share", "small": "share"}),
    ],
)
def test_the_rule_says_which_items_are_split(rule, split):
    study = make_split_study()
    use(study, **rule)

    reasons = split_now(rule_of(study)).reasons

    keys = dict(Item.objects.filter(study=study).values_list("pk", "key"))
    assert {keys[pk]: str(reason) for pk, reason in reasons.items()} == split


@needs_media
def test_an_expert_by_link_sees_pictures_of_their_own_items_only(settings, tmp_path):
    settings.VAR_DIR = tmp_path
    study = make_split_study()
    ((expert, key),) = sent(study, "Ann")
    sums = {}
    for name, color in (("even", "red"), ("clear", "blue")):
        item = Item.objects.get(key=name)
        shown = stored_picture(study, picture(color=color)) | {"description": "A beach."}
        item.r1["media"], sums[name] = [shown], shown["sha256"]
        item.save()
    browser = Client()

    html = browser.get(link_of(expert, key, "1/")).content.decode()

    address = link_of(expert, key, f"media/{sums['even']}/")
    assert f'<img src="{address}"' in html.replace(' lang="en"', "")
    response = browser.get(address)
    assert b"".join(response.streaming_content) == picture(color="red")
    assert browser.get(link_of(expert, key, f"media/{sums['clear']}/")).status_code == 404
    assert browser.get(link_of(expert, "other", f"media/{sums['even']}/")).status_code == 404
    end_expert(expert_id=expert.pk)
    assert browser.get(address).status_code == 404


def test_items_that_still_collect_answers_wait():
    study = make_split_study(annotations_per_item=9)
    Item.objects.filter(study=study).update(seats_needed=9, seats_taken=4, answered=4)
    Study.objects.update(state="open")
    use(Study.objects.get())

    assert send_items(study_id=study.pk).waiting == 1
    assert not SplitItem.objects.exists()


def test_every_item_gets_as_many_experts_as_wanted_and_again_sends_nothing_twice():
    study = make_split_study()
    use(study, below=100, per_item=2)
    first, _ = add_expert(study_id=study.pk, name="Ada")

    short = send_items(study_id=study.pk)
    second, _ = add_expert(study_id=study.pk, name="Ben")
    third, _ = add_expert(study_id=study.pk, name="Cleo")
    send_items(study_id=study.pk)
    again = send_items(study_id=study.pk)

    assert (short.items, short.places, short.short) == (2, 2, 2)
    assert (again.items, again.places, again.short) == (0, 0, 0)
    assert keys_of(first) == ["even", "small"]
    assert sorted(keys_of(second) + keys_of(third)) == ["even", "small"]


def test_an_expert_decides_blind_changes_and_takes_back_until_it_is_closed():
    study = make_split_study()
    [(expert, key)] = sent(study, "Ada Lovelace", below=100)
    client = Client()

    start = client.get(link_of(expert, key))
    page = client.get(link_of(expert, key, "1/"))
    saved = client.post(link_of(expert, key, "1/"), {"choice": "a", "certainty": "80"})
    client.post(link_of(expert, key, "2/"), {"choice": "b", "certainty": "60"})
    client.post(link_of(expert, key, "2/"), {"action": "undo"})

    assert start["Cache-Control"] == "no-store"
    assert "0 of 2 are done." in start.content.decode()
    assert saved["Location"] == link_of(expert, key, "2/")
    for shown in (start, page):
        words = shown.content.decode()
        assert "Ada Lovelace" not in words
        assert not [
            name for name in study.annotators.values_list("pseudonym", flat=True) if name in words
        ]
    first = ExpertDecision.objects.get(position=1)
    assert (first.choice, first.certainty) == (first.shown_first, 80)
    second = ExpertDecision.objects.get(position=2)
    assert (second.choice, second.changes, second.decided_at) == ("", 1, None)
    set_closed(study_id=study.pk, is_closed=True)
    late = client.post(link_of(expert, key, "1/"), {"choice": "b", "certainty": "80"})
    assert late["Location"] == link_of(expert, key)
    assert "can no longer change" in client.get(late["Location"]).content.decode()
    with pytest.raises(StudyError, match="closed"):
        decide(decision_id=first.pk, choice="r1", certainty=None)
    first.refresh_from_db()
    assert first.choice == first.shown_first


@pytest.mark.parametrize(
    "entered", [{}, {"choice": "c"}, {"choice": "a", "certainty": "140"}, {"choice": "tie"}]
)
def test_a_wrong_decision_is_refused_and_stored_nowhere(entered):
    [(expert, key)] = sent(make_split_study(), "Ada")

    page = Client().post(link_of(expert, key, "1/"), entered)

    assert page.status_code == 422
    assert decisions(expert) == {"even": ""}


def test_a_wrong_key_an_ended_link_and_another_account_find_nothing():
    study = make_split_study()
    [(expert, key)] = sent(study, "Ada")
    member = sign_in(study, "viewer")
    user = Membership.objects.get(study=study).user
    other, _ = add_expert(study_id=study.pk, name="Vi", member=user)
    client = Client()

    assert client.get(link_of(expert, "x" * 43)).status_code == 404
    assert client.get(f"/adjudicate/{expert.public_id}/").status_code == 404
    assert client.get(link_of(expert, key, "9/")).status_code == 404
    assert client.get(f"/adjudicate/{other.public_id}/")["Location"].startswith("/accounts/login/")
    assert member.get(f"/adjudicate/{other.public_id}/").status_code == 200
    assert sign_in(study, "owner").get(f"/adjudicate/{other.public_id}/").status_code == 404
    Membership.objects.filter(user=user).delete()
    assert member.get(f"/adjudicate/{other.public_id}/").status_code == 404
    end_expert(expert_id=expert.pk)
    assert client.get(link_of(expert, key)).status_code == 404
    assert not ExpertDecision.objects.filter(expert=expert).exists()
    [need] = expert_needs(study)
    assert need.sentence == "1 split item has no expert."


def test_the_source_of_each_label_is_kept_apart_from_the_own_answer():
    study = make_split_study()
    (ada, _), _ben = sent(study, "Ada", "Ben", below=100, per_item=2)
    for row in ExpertDecision.objects.all():
        decide(
            decision_id=row.pk,
            choice="r2" if row.item.key == "small" or row.expert == ada else "r1",
            certainty=None,
        )

    rows = {row["item_id"]: row for row in label_rows(study)}

    assert {key: (row["label"], row["source"]) for key, row in rows.items()} == {
        "even": (None, "open"),
        "small": ("r2", "expert"),
        "clear": ("r1", "majority"),
        "alone": ("r1", "majority"),
    }
    assert {row["own_answer"] for row in rows.values()} == {"r2"}
    assert len(rows["small"]["experts"]) == 2
    assert not {"Ada", "Ben"} & {*rows["small"]["experts"]}


def test_files_with_decisions_are_imported_whole_or_not_at_all(tmp_path):
    study = make_split_study()
    file = tmp_path / "decisions.csv"
    file.write_text("rater_id,item_id,choice\nada,even,r2\nada,clear,r1\n")

    call_command("import_annotations", study.slug, file, "--adjudication", "--dry-run")
    assert not Expert.objects.exists()
    call_command("import_annotations", study.slug, file, "--adjudication")
    again = import_decisions(study_id=study.pk, file=file_at(file))
    file.write_text("rater_id,item_id,choice\nben,even,r1\nada,even,r1\nada,nowhere,r1\n")
    with pytest.raises(Refused, match="nowhere"):
        import_decisions(study_id=study.pk, file=file_at(file))
    file.write_text("rater_id,item_id,choice\nben,even,r1\nada,even,r1\n")
    with pytest.raises(Refused, match="differently before"):
        import_decisions(study_id=study.pk, file=file_at(file))

    assert (again.added, again.unchanged) == (0, 2)
    assert [*Expert.objects.values_list("name", flat=True)] == ["ada"]
    rows = {row["item_id"]: row["source"] for row in label_rows(study)}
    assert (rows["even"], rows["clear"], rows["small"]) == ("expert", "expert", "majority")


def test_the_page_sends_items_adds_experts_and_shows_the_key_of_a_link_once():
    study = make_split_study()
    owner = sign_in(study, "owner")
    address = f"/studies/{study.slug}/adjudication/"

    nothing = owner.post(f"{address}rule/", {"per_item": "1"})
    wrong = owner.post(f"{address}rule/", {"per_item": "0", "below": "12"})
    owner.post(f"{address}rule/", {"no_majority": "on", "per_item": "1"})
    nobody = owner.post(f"{address}experts/", {"name": ""})
    added = owner.post(f"{address}experts/", {"name": "Ada"})
    again = owner.post(f"{address}experts/", {"name": "Ada"})
    owner.post(f"{address}send/")
    shown = owner.get(address).content.decode()

    assert [nothing.status_code, wrong.status_code, nobody.status_code, again.status_code] == [
        422
    ] * 4
    assert "Choose at least one kind" in nothing.content.decode()
    expert = Expert.objects.get()
    link = added.context["link"].partition("/adjudicate/")[2]
    assert Client().get(f"/adjudicate/{link}").status_code == 200
    assert expert.key_hash not in shown
    assert link.partition("=")[2] not in shown
    assert "0 of 1" in shown
    assert sign_in(study, "viewer").get(address).status_code == 200
    assert sign_in(study, "editor").post(f"{address}send/").status_code == 404
    owner.post(f"{address}close/", {"closed": "yes"})
    assert "closed" in owner.post(f"{address}send/").content.decode()
    owner.post(f"{address}close/")
    assert Adjudication.objects.get().closed_at is None


def test_a_rule_is_not_replaced_unseen():
    study = make_split_study()
    owner, address = sign_in(study, "owner"), f"/studies/{study.slug}/adjudication/"
    sent = {"no_majority": "on", "seen": owner.get(address).context["seen"]}

    saved = owner.post(f"{address}rule/", sent | {"per_item": "2"})
    refused = owner.post(f"{address}rule/", sent | {"per_item": "3"})

    assert (saved.status_code, refused.status_code) == (302, 422)
    assert "Someone else changed which items go to experts" in refused.content.decode()
    assert Adjudication.objects.get().per_item == 2
    again = sent | {"per_item": "3", "seen": refused.context["seen"]}
    assert owner.post(f"{address}rule/", again).status_code == 302


def test_the_command_shows_counts_adds_and_sends(capsys):
    study = make_split_study()

    call_command("adjudicate", study.slug, "--dry-run")
    call_command(
        "adjudicate", study.slug, "--expert", "Ada", "--expert", "Ben", "--send", "--close"
    )
    with pytest.raises(CommandError, match="closed"):
        call_command("adjudicate", study.slug, "--send")

    lines = capsys.readouterr().out.splitlines()
    assert "new: 1; sent to experts: 0. Lack an expert: 1." in lines[0]
    assert lines[1].startswith("Ada: http")
    assert {"Ada (link): 0 of 1 decided", "Ben (link): 0 of 0 decided"} == {*lines[-2:]}


def test_files_copies_and_deletion_of_a_study(tmp_path):
    study = make_split_study()
    sent(study, "Ada", below=90)
    (tmp_path / FILE.file).write_text(FILE.write(study)[FILE.file])
    other = make_study()

    FILE.apply(other, Folder(tmp_path), FILE.file, user=None)
    copy = copy_study(study_id=study.pk, slug="again", title="Again", with_items=True)

    assert rule_of(other).below == rule_of(copy).below == 90
    assert not Expert.objects.filter(study=copy).exists()
    for wrong in (
        "below = 12",
        "per_item = 0",
        'sets = ["moon"]',
        "sets = [1]",
        "no_majority = false",
    ):
        (tmp_path / FILE.file).write_text(wrong)
        with pytest.raises(StudyError):
            FILE.apply(other, Folder(tmp_path), FILE.file, user=None)
    (tmp_path / FILE.file).write_text("below = 70")
    editor = sign_in(other, "editor") and Membership.objects.get(study=other).user
    with pytest.raises(StudyError, match="only owners"):
        FILE.apply(other, Folder(tmp_path), FILE.file, user=editor)
    assert refusal(study, "label_models").endswith("Close the adjudication first.")
    set_closed(study_id=study.pk, is_closed=True)
    turn_off(study, "label_models")
    delete_rows(study)
    assert not ExpertDecision.objects.exists()


def test_exports_have_labels_and_decisions_without_names(tmp_path):
    study = make_split_study()
    with pytest.raises(CommandError, match="sent to experts"):
        call_command("export", study.slug, "--what", "labels", "--out", tmp_path / "none.csv")
    sent(study, "Ada")
    decide(decision_id=ExpertDecision.objects.get().pk, choice="r2", certainty=70)
    out = tmp_path / "decisions.jsonl"

    call_command("export", study.slug, "--what", "labels", "--out", tmp_path / "labels.csv")
    call_command("export", study.slug, "--what", "decisions", "--format", "jsonl", "--out", out)

    assert "Ada" not in out.read_text() + (tmp_path / "labels.csv").read_text()
    row = json.loads(out.read_text())
    assert (row["item_id"], row["choice"], row["certainty"], row["by"]) == (
        "even",
        "r2",
        70,
        "link",
    )
