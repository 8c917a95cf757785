"""Several Prolific accounts: each study recruits, pays and is read with its own, and no other."""

import io
import logging
import re

import pytest
from django.contrib.auth.models import User
from django.core.management import call_command
from django.test import Client
from django.urls import reverse

from analysis.exports.bundle import write_folder
from analysis.exports.catalogue import Disclosure, FolderOrder
from annotation.models import (
    ProlificAccount,
    ProlificEvent,
    ProlificStudy,
    ProlificSubmission,
    Recruitment,
)
from annotation.prolific.api import accounts
from annotation.prolific.api.client import connect
from annotation.prolific.api.credentials import knows_secret
from annotation.prolific.api.transport import (
    NotAllowed,
    NotConfigured,
    ProlificError,
    Unauthorized,
)
from annotation.prolific.launch import launch
from annotation.prolific.sync.polling import follow_all
from annotation.prolific.sync.webhooks import EVENTS, subscribe
from annotation.researchers.workbench import annotator_needs
from annotation.tasks import handle_prolific_event
from demo.prolific.records import WORKSPACE
from demo.prolific.server import LAB_TOKEN
from studies.models import Membership
from tests.annotation.prolific.life import (
    SECRET,
    arrive,
    finish,
    make_recruiting,
    post,
    published,
    time_to_read,
)

pytestmark = pytest.mark.django_db
LAB = "2" * 24
OTHER_TOKEN = "another-token-of-the-lab-2222"


@pytest.fixture
def lab(prolific, settings):
    settings.PUBLIC_BASE_URL = "https://study.example.org"
    return prolific.add_lab()


def owned(name: str, **overrides):
    """A study and its only owner."""
    owner, _ = User.objects.get_or_create(username=name)
    study = make_recruiting(**overrides)
    Membership.objects.create(study=study, user=owner, role=Membership.Role.OWNER)
    return study, owner


def of_lab(name: str = "ada", token: str = LAB_TOKEN):
    """An owner's study that uses the token of the second lab."""
    study, owner = owned(name)
    account = accounts.enter(study_id=study.pk, user=owner, token=token)
    accounts.choose(study_id=study.pk, account_id=account.pk, user=owner)
    return study, account


def signed_in(user: User) -> Client:
    client = Client()
    client.force_login(user)
    return client


def page(study) -> str:
    return reverse("people:prolific-accounts", args=[study.slug])


@pytest.mark.nightly
def test_each_study_recruits_from_its_own_wallet_and_is_read_with_its_own_token(prolific, lab):
    ours = published(owned("bob")[0])
    study, _ = of_lab()
    theirs = published(study)

    assert prolific.world.wallet(WORKSPACE) == prolific.world.wallet(lab) < 10_000_000
    assert Recruitment.objects.get(study=study).workspace["id"] == lab
    for row in (ours, theirs):
        person, annotator = arrive(prolific, row)
        finish(prolific, person, annotator)
    assert follow_all() == 2
    assert set(ProlificSubmission.objects.values_list("status", flat=True)) == {"AWAITING REVIEW"}
    # Neither token opens the other workspace.
    with pytest.raises(ProlificError):
        connect(study.pk).study(ours.prolific_id)
    with pytest.raises(ProlificError):
        connect(ours.study_id).study(theirs.prolific_id)


def test_an_owner_enters_a_token_which_no_page_log_or_file_shows(lab, caplog, tmp_path):
    study, owner = owned("ada")
    client = signed_in(owner)

    with caplog.at_level(logging.DEBUG):
        entered = client.post(
            page(study), {"action": "enter", "token": f" {LAB_TOKEN} ", "secret": SECRET}
        )
        shown = client.get(page(study)).content.decode()
        home = client.get(reverse("people:prolific", args=[study.slug])).content.decode()
        everything = Disclosure(identified=True)
        write_folder(study, tmp_path / "bundle", FolderOrder(everything))

    assert entered.status_code == 302
    account = ProlificAccount.objects.get()
    assert (str(account), account.given_by) == ("Second lab", owner)
    assert Recruitment.objects.get(study=study).prolific_account == account
    assert "stored, encrypted" in shown
    assert "workspace" in home
    files = b"".join(p.read_bytes() for p in tmp_path.rglob("*") if p.is_file()).decode("latin-1")
    hidden = (LAB_TOKEN, SECRET, account.sealed_token, account.sealed_secret)
    assert not [one for one in hidden for text in (shown, home, caplog.text, files) if one in text]
    dump = io.StringIO()
    call_command("dumpdata", "annotation", stdout=dump)
    assert account.sealed_token in dump.getvalue()
    assert LAB_TOKEN not in dump.getvalue()


@pytest.mark.parametrize("debug", [True, False])
def test_an_error_page_does_not_show_the_token(lab, settings, monkeypatch, caplog, debug):
    study, owner = owned("ada")
    settings.DEBUG = debug
    client = signed_in(owner)
    client.raise_request_exception = False

    def fails(value):
        raise RuntimeError(f"after {len(value)} characters")

    monkeypatch.setattr("annotation.prolific.api.accounts.seal", fails)
    with caplog.at_level(logging.DEBUG):
        response = client.post(page(study), {"action": "enter", "token": LAB_TOKEN})

    assert response.status_code == 500
    assert LAB_TOKEN not in response.content.decode() + caplog.text


def test_a_token_with_several_workspaces_asks_for_one_and_is_held_for_its_user_alone(prolific, lab):
    prolific.more_tokens[OTHER_TOKEN] = {lab, WORKSPACE}
    study, owner = owned("ada")
    client = signed_in(owner)

    asked = client.post(page(study), {"action": "enter", "token": OTHER_TOKEN}).content.decode()

    assert "Choose the workspace" in asked
    assert OTHER_TOKEN not in asked
    assert not ProlificAccount.objects.exists()
    held = re.search(r'name="held" value="([^"]+)"', asked)[1]
    other, stranger = owned("eve")
    chosen = {"action": "enter", "held": held, "workspace": lab}
    assert signed_in(stranger).post(page(other), chosen).status_code == 422
    assert client.post(page(study), chosen).status_code == 302
    assert ProlificAccount.objects.get().workspace_id == lab
    assert connect(study.pk).workspaces() == {lab: "Second lab"}


def test_a_refused_token_is_not_stored_and_not_sent_back(prolific, lab):
    study, owner = owned("ada")

    for token in ("wrong-token-of-nobody-3333", "spaced out", ""):
        response = signed_in(owner).post(page(study), {"action": "enter", "token": token})
        assert response.status_code == 422
        assert not token or token not in response.content.decode()
    assert not ProlificAccount.objects.exists()


def test_another_study_neither_sees_nor_spends_nor_removes_an_account(lab):
    study, account = of_lab()
    other, eve = owned("eve")
    editor = User.objects.create_user("editor")
    Membership.objects.create(study=other, user=editor, role=Membership.Role.EDITOR)

    for user in (eve, editor):
        client = signed_in(user)
        assert "Second lab" not in client.get(page(other)).content.decode()
        for action in ("use", "test", "remove", "secret"):
            client.post(page(other), {"action": action, "account": account.pk, "secret": "x"})
    entered = signed_in(editor).post(page(other), {"action": "enter", "token": LAB_TOKEN})

    assert entered.status_code == 422
    before = account.sealed_token, account.sealed_secret
    account.refresh_from_db()
    assert (account.sealed_token, account.sealed_secret) == before
    assert ProlificAccount.objects.count() == 1
    assert not Recruitment.objects.filter(study=other, prolific_account=account).exists()
    assert signed_in(eve).get(page(study)).status_code == 404


def test_an_account_serves_as_long_as_its_giver_belongs_to_the_study(lab):
    study, account = of_lab()
    connect(study.pk)

    study.memberships.update(role=Membership.Role.VIEWER)
    with pytest.raises(NotConfigured, match="owner or editor"):
        connect(study.pk)
    assert "owner or editor" in next(annotator_needs(study)).sentence

    User.objects.update(is_superuser=True)
    connect(study.pk)
    assert accounts.accounts_for(make_recruiting()) == [account]


def test_the_workspace_is_fixed_once_the_study_is_on_prolific(prolific, lab):
    study, account = of_lab()
    published(study)

    with pytest.raises(NotAllowed, match="stays there"):
        accounts.choose(study_id=study.pk, account_id=None)
    assert Recruitment.objects.get(study=study).prolific_account == account

    prolific.more_tokens[OTHER_TOKEN] = {lab}
    colleague = User.objects.create_user("colleague")
    Membership.objects.create(study=study, user=colleague, role=Membership.Role.OWNER)
    again = accounts.enter(study_id=study.pk, user=colleague, token=OTHER_TOKEN)
    accounts.choose(study_id=study.pk, account_id=again.pk)
    assert (connect(study.pk).account_id, again.pk != account.pk) == (again.pk, True)


def test_an_account_that_changes_during_a_launch_stops_it(prolific, lab, monkeypatch):
    study, _ = of_lab()
    with_old_account = connect(study.pk)
    accounts.choose(study_id=study.pk, account_id=None)
    monkeypatch.setattr(launch, "connect", lambda study_id: with_old_account)

    with pytest.raises(NotAllowed, match="another Prolific account"):
        launch.launch(study_id=study.pk)

    assert prolific.world.studies == {}


@pytest.mark.nightly
def test_a_refused_account_lets_only_its_own_studies_wait(prolific, lab):
    fine = published(owned("bob")[0])
    waiting, account = of_lab()
    published(waiting)
    second, owner = owned("ada")
    accounts.choose(study_id=second.pk, account_id=account.pk, user=owner)
    published(second)
    token = prolific.more_tokens.pop(LAB_TOKEN)
    prolific.more_tokens["of the lab"] = token
    person, annotator = arrive(prolific, fine)
    finish(prolific, person, annotator)

    assert follow_all() == 1
    assert fine.submissions.get().status == "AWAITING REVIEW"
    for study in (waiting, second):
        need = next(annotator_needs(study))
        assert ("refuses the token" in need.sentence, need.address) == (True, page(study))
    assert not [need for need in annotator_needs(fine.study) if "token" in need.sentence]
    asked = len(prolific.requests)
    time_to_read()
    with_others = ProlificStudy.objects.exclude(pk=fine.pk).values_list("prolific_id", flat=True)
    assert follow_all() == 1
    assert not [r for r in prolific.requests[asked:] if any(one in r for one in with_others)]

    with pytest.raises(Unauthorized):
        accounts.try_again(study=waiting, account_id=account.pk)
    prolific.more_tokens[LAB_TOKEN] = token
    accounts.try_again(study=waiting, account_id=account.pk)
    time_to_read()
    assert follow_all() == 3
    assert not [need for need in annotator_needs(waiting) if "token" in need.sentence]


def test_a_token_that_lost_one_study_is_not_refused_for_the_others(prolific, lab):
    study, account = of_lab()
    published(study)
    prolific.fault("GET", "studies/", "401")

    assert follow_all() == 0
    account.refresh_from_db()
    assert account.refused_at is None


@pytest.mark.nightly
def test_a_removed_token_leaves_its_studies_waiting_in_their_workspace(prolific, lab, client):
    study, account = of_lab()
    owner = account.given_by
    row = published(study)
    shown = signed_in(owner).get(page(study)).content.decode()
    assert study.title in shown

    signed_in(owner).post(page(study), {"action": "remove", "account": account.pk})

    account.refresh_from_db()
    assert (account.sealed_token, account.sealed_secret) == ("", "")
    assert follow_all() == 0
    # Participants come in as if Prolific did not answer.
    person = prolific.world.arrive(row.prolific_id)
    assert client.get(person["url"].partition("study.example.org")[2]).status_code == 302
    with pytest.raises(NotConfigured, match="was removed"):
        connect(study.pk)
    assert "was removed" in signed_in(owner).get(page(study)).content.decode()
    signed_in(owner).post(page(study), {"action": "enter", "token": LAB_TOKEN})
    assert (ProlificAccount.objects.get().pk, follow_all()) == (account.pk, 1)

    spare, _ = owned("ada")
    lonely = accounts.enter(
        study_id=spare.pk, user=User.objects.create_superuser("root"), token=LAB_TOKEN
    )
    accounts.remove(account_id=lonely.pk, study=spare, user=lonely.given_by)
    assert not ProlificAccount.objects.filter(pk=lonely.pk).exists()


def test_after_a_change_of_secret_key_the_token_is_asked_for_again(lab, settings):
    study, _ = of_lab()
    published(study)

    settings.SECRET_KEY = "another key of another installation, long enough"

    assert follow_all() == 0
    assert "SECRET_KEY" in next(annotator_needs(study)).sentence
    settings.PROLIFIC_STORED_TOKENS = False
    assert "PROLIFIC_STORED_TOKENS" in next(annotator_needs(study)).sentence


# Webhooks


@pytest.fixture
def at_once(monkeypatch):
    monkeypatch.setattr(
        handle_prolific_event, "delay_on_commit", lambda pk: handle_prolific_event(pk)
    )


def test_two_studies_of_a_workspace_share_its_secret_and_subscriptions(prolific, lab):
    prolific.more_tokens[OTHER_TOKEN] = {lab}
    first, account = of_lab("ada")
    second, other = of_lab("bob", OTHER_TOKEN)

    secrets = {subscribe(study_id=study.pk) for study in (first, second, first)}

    assert secrets == {prolific.world.hook_secrets[lab]}
    assert len(prolific.world.hooks) == len(EVENTS)
    for one in (account, other):
        one.refresh_from_db()
        assert one.sealed_secret
    assert knows_secret(Recruitment.objects.get(study=second))


@pytest.mark.nightly
def test_a_webhook_counts_only_for_studies_of_the_workspace_that_signs_it(
    prolific, lab, client, at_once, settings
):
    settings.PROLIFIC_WEBHOOK_SECRET = prolific.world.hook_secret = SECRET
    ours = published(owned("bob")[0])
    study, _ = of_lab()
    theirs = published(study)
    subscribe(study_id=study.pk)
    subscribe(study_id=ours.study_id)
    person, annotator = arrive(prolific, theirs)
    finish(prolific, person, annotator)

    statuses = []
    prolific.deliver(post=lambda d: statuses.append(post(client, d).status_code))

    assert set(statuses) == {204}
    assert theirs.submissions.get().status == "AWAITING REVIEW"
    # The other workspace's secret signs nothing about this study.
    before = ProlificEvent.objects.count()
    for workspace, row in ((lab, ours), (WORKSPACE, theirs)):
        body = {"event_type": "study.status.change", "resource_id": row.prolific_id}
        forged = prolific.world.signed("https://x/", body, workspace)
        assert post(client, forged).status_code == 403
    body = {"event_type": "submission.status.change", "resource_id": person["submission"]}
    assert post(client, prolific.world.signed("https://x/", body, WORKSPACE)).status_code == 403
    assert ProlificEvent.objects.count() == before
