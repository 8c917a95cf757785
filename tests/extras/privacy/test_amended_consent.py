"""An amended consent: who is asked, what they read, what they keep, and what is refused."""

import pytest
from django.core.management import CommandError, call_command
from django.test import Client
from django.urls import reverse

from annotation import services
from annotation.content.consent_versions import promised
from annotation.models import Annotation, Annotator
from extras.privacy.amendments import AmendmentError, amend_consent, history
from studies.models import Study
from tests.annotation.pages.walking import (
    answer_all,
    item_page,
    post_answer,
    start,
)
from tests.factories import make_items, make_study, sign_in

PIDS = [f"{number:024x}" for number in range(1, 5)]


@pytest.fixture
def study(db: None) -> Study:
    study = make_study(items_per_annotator=3, reward=450, consent="We store answers.")
    make_items(study, 3)
    return study


def amend(study: Study, text: str = "We store answers for ten years.", *, again: bool = True):
    return amend_consent(
        study_id=study.pk, fields={"consent": text}, note="Board 2026/17.", asks_again=again
    )


def agree(client: Client, study: Study) -> None:
    page = client.get(f"/s/{study.slug}/consent/")
    version = page.content.decode().partition('name="version" value="')[2][:64]
    client.post(f"/s/{study.slug}/consent/", {"consent": "yes", "version": version})


def test_people_in_mid_work_agree_again_before_the_next_item_and_keep_all(study):
    client, done = start(study, PIDS[0]), start(study, PIDS[1])
    answer_all(done, study)
    finished = Annotator.objects.get(prolific_identity__pid=PIDS[1])
    services.complete(annotator_id=finished.pk)
    open_page = item_page(client, study)
    person = Annotator.objects.get(prolific_identity__pid=PIDS[0])
    first = person.consent_version

    assert amend(study) == 1

    # The page that was open still stores its answer.
    assert post_answer(client, open_page).status_code == 303
    assert Annotation.objects.filter(assignment__annotator=person).count() == 1
    sent_away = item_page(client, study)
    assert sent_away["Location"].endswith("/consent/")
    text = client.get(sent_away["Location"]).content.decode()
    assert "The information has changed" in text
    assert "for ten years" in text
    agree(client, study)
    answer_all(client, study)
    services.complete(annotator_id=person.pk)
    person.refresh_from_db()
    assert person.consent_version != first
    assert not person.consent_due
    event = person.events.get(event="agreed again")
    assert event.detail == {"before": first, "version": person.consent_version}
    pay = promised([study])[study.pk]
    assert {(each.reward, n) for each, n in pay.items()} == {(450, 2)}
    newest, oldest = history(study)
    assert (newest.people, newest.again, oldest.people) == (1, 1, 1)
    assert [(c.sign, c.line) for c in newest.changes if c.sign] == [
        ("-", "We store answers."),
        ("+", "We store answers for ten years."),
    ]
    assert newest.note == "Board 2026/17."


def test_the_script_of_the_item_page_is_sent_there_too(study):
    client = start(study)
    page = item_page(client, study)
    amend(study)

    answer = client.post(
        page.request["PATH_INFO"],
        {
            "assignment": page.content.decode()
            .partition('name="assignment" value="')[2]
            .split('"')[0],
            "choice": "a",
            "certainty": "70",
        },
        headers={"accept": "text/vnd.thirdperson.item+html"},
    )

    assert answer.status_code == 303


def test_who_refuses_can_withdraw_and_nothing_happens_by_itself(study):
    client = start(study)
    amend(study)
    version = (
        client.get(f"/s/{study.slug}/consent/")
        .content.decode()
        .partition('name="version" value="')[2][:64]
    )

    refused = client.post(f"/s/{study.slug}/consent/", {"consent": "no", "version": version})

    assert refused["Location"].endswith("/withdraw/")
    assert Annotator.objects.get().state == "annotating"
    client.post(refused["Location"])
    assert Annotator.objects.get().state == "withdrew"


def test_without_asking_people_go_on_under_their_version_and_newcomers_see_the_new_one(study):
    client = start(study, PIDS[0])

    assert amend(study, again=False) == 0

    assert item_page(client, study).status_code == 200
    newcomer = start(study, PIDS[1])
    assert item_page(newcomer, study).status_code == 200
    one, two = Annotator.objects.order_by("pk").values_list("consent_version", flat=True)
    assert one != two


def test_who_comes_back_after_a_time_out_is_asked(study):
    client = start(study)
    person = Annotator.objects.get()
    services.time_out(annotator_id=person.pk)
    assert amend(study) == 0

    services.resume(annotator_id=person.pk)

    assert item_page(client, study)["Location"].endswith("/consent/")


def test_nobody_agrees_to_less_than_they_were_promised(study):
    client = start(study)
    Study.objects.filter(pk=study.pk).update(reward=400)
    with pytest.raises(AmendmentError, match=r"promised more than the text now says: \$4\.50"):
        amend(study)
    Study.objects.filter(pk=study.pk).update(reward=450)
    amend(study)
    Study.objects.filter(pk=study.pk).update(reward=400)

    agree(client, study)

    answer_all(client, study)
    services.complete(annotator_id=Annotator.objects.get().pk)
    ((pay, _),) = promised([study])[study.pk].items()
    assert pay.reward == 450


def test_the_page_shows_what_changes_and_a_second_press_saves_once(study):
    start(study)
    client = sign_in(study)
    address = reverse("consents:versions", args=[study.slug])
    sent = {
        "consent": "We store <b>answers</b> for ten years.",
        "asks_again": "yes",
        "note": "Board 2026/17.",
        "version": study.version,
    }

    preview = client.post(address, sent | {"do": "preview"}).content.decode()
    assert "for ten years.</ins>" in preview
    assert "<b>answers" not in preview
    assert not Annotator.objects.get().consent_due
    assert client.post(address, sent | {"note": ""}).status_code == 422
    assert client.post(address, sent | {"consent": "[[NAME]] stores answers."}).status_code == 422
    assert client.post(address, sent).status_code == 302
    assert client.post(address, sent).status_code == 422

    study.refresh_from_db()
    assert study.log.filter(event="consent amended").count() == 1
    assert Annotator.objects.get().consent_due
    assert sign_in(study, "viewer").post(address, sent).status_code == 404


def test_a_text_that_is_the_same_is_no_version(study):
    start(study)
    with pytest.raises(AmendmentError, match="same as before"):
        amend(study, "We store answers.")
    with pytest.raises(AmendmentError, match="ethics board"):
        amend_consent(study_id=study.pk, fields={"consent": "x"}, note=" ", asks_again=False)


def test_the_command_shows_what_changes_and_stores_it_once(study, tmp_path, capsys):
    start(study, PIDS[0])
    file = tmp_path / "new.toml"
    file.write_text('consent = "We store answers for ten years."')
    amended = {"file": file, "note": "Board 2026/17.", "ask_again": True}

    call_command("amend_consent", study.slug, **amended, dry_run=True)
    shown = capsys.readouterr().out
    assert "+ We store answers for ten years." in shown
    assert "Nothing was stored; 1 person would be asked again." in shown
    assert Study.objects.get(pk=study.pk).consent == "We store answers."

    call_command("amend_consent", study.slug, **amended)
    assert "1 person is asked again." in capsys.readouterr().out
    assert history(study)[0].note == "Board 2026/17."
    with pytest.raises(CommandError, match="same as before"):
        call_command("amend_consent", study.slug, **amended)
    for text, words in (
        ('reward = "9"', "no setting “reward”"),
        ("ethics = 7", "ethics is not a text"),
        (f'ethics = "{"x" * 400}"', "at most 300"),
        ('ethics = "[[name of the board]]"', "Fill in"),
    ):
        file.write_text(text)
        with pytest.raises(CommandError, match=words):
            call_command("amend_consent", study.slug, **amended)
