"""A study changes hands with everything that works through who leaves."""

import pytest
from django.contrib.auth.models import User

from annotation.models import ProlificAccount, Recruitment
from annotation.prolific.api.credentials import why_unusable
from judging.models import Judge, JudgeRun
from judging.worker.endpoints import serves_key
from studies.models import AccessToken, Membership, Study
from studies.services.accounts import team
from tests.factories import make_study, sign_in

pytestmark = pytest.mark.django_db


@pytest.fixture
def study(settings) -> Study:
    """A study of ada, a student, in which bo is a viewer; ada gave out one of everything."""
    settings.PROLIFIC_STORED_TOKENS = True
    study = make_study(slug="s")
    ada, bo = User.objects.create_user("ada"), User.objects.create_user("bo")
    Membership.objects.create(study=study, user=ada, role="owner")
    Membership.objects.create(study=study, user=bo, role="viewer")
    team.invite(study_id=study.pk, role="viewer", by=ada, note="Cy")
    judge = Judge.objects.create(
        name="gpt", backend="openai", model="m", sealed_key="x", key_by=ada, created_by=ada
    )
    JudgeRun.objects.create(study=study, judge=judge, key="k", seed=1)
    account = ProlificAccount.objects.create(
        workspace_id="w", workspace_title="Lab", given_by=ada, sealed_token="t"
    )
    Recruitment.objects.create(study=study, prolific_account=account)
    AccessToken.objects.create(
        user=ada, name="nightly", token_sha256="h", expires_at="2099-01-01T00:00Z"
    )
    return study


KINDS = {"invitation", "key_by", "created_by", "prolific"}


def keys(study: Study) -> list[str]:
    ada = User.objects.get(username="ada")
    return [grant.key for grant in team.granted_by(study, ada.pk)]


def assert_all_are_of(study: Study, heir: User) -> None:
    judge, account = Judge.objects.get(), study.recruitment.prolific_account
    account.refresh_from_db()
    assert study.team_invitations.get().invited_by == heir
    assert (judge.key_by, judge.created_by, account.given_by) == (heir, heir, heir)
    assert serves_key(judge, study)
    assert "serves the studies" not in why_unusable(account, study)


def test_all_that_works_through_a_student_goes_to_the_new_owner(study, client):
    ada, bo = (User.objects.get(username=name) for name in ("ada", "bo"))
    client.force_login(ada)
    page = client.get("/studies/s/team/hand-over/").content.decode()
    assert {key.split()[0] for key in keys(study)} == KINDS
    assert all(f'value="{key}" checked' in page for key in keys(study))
    assert "nightly" in page

    client.post(
        "/studies/s/team/hand-over/", {"user": bo.pk, "keep": keys(study), "afterwards": "none"}
    )

    study.refresh_from_db()
    assert [(m.user, m.role) for m in study.memberships.all()] == [(bo, "owner")]
    assert_all_are_of(study, bo)


def test_what_is_not_kept_ends_for_the_study_only(study):
    ada, bo = (User.objects.get(username=name) for name in ("ada", "bo"))

    team.hand_over(study_id=study.pk, to=bo.pk, by=ada, afterwards="")

    judge = Judge.objects.get()
    assert judge.sealed_key == "x"
    assert not serves_key(judge, study)


def test_nobody_hands_over_to_somebody_who_cannot_sign_in(study):
    User.objects.filter(username="bo").update(is_active=False)
    ada, bo = (User.objects.get(username=name) for name in ("ada", "bo"))
    owner = sign_in(study, "owner")

    done = owner.post("/studies/s/team/hand-over/", {"user": bo.pk, "leaving": ada.pk}, follow=True)

    assert "The account of bo is closed." in done.content.decode()
    assert Membership.objects.get(user=ada).role == "owner"
