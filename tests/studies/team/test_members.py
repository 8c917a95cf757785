"""Members, their roles, and invitations by link."""

import datetime as dt
from urllib.parse import parse_qs, urlsplit

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.utils import timezone

from studies.errors import StudyError
from studies.models import Membership, TeamInvitation
from studies.services.accounts import team
from tests.factories import make_study, sign_in

pytestmark = pytest.mark.django_db


@pytest.fixture
def study():
    return make_study(slug="s")


def member(study, name, role):
    user = User.objects.create_user(name, email=f"{name}@example.org")
    Membership.objects.create(study=study, user=user, role=role)
    return user


def invited(client, role="editor", note="Ada"):
    """A fresh invitation: the address of its link, without the site."""
    page = client.post("/studies/s/team/", {"action": "invite", "role": role, "note": note})
    link = urlsplit(page.context["link"])
    return f"{link.path}?{link.query}"


def test_only_the_hash_of_a_secret_is_stored(study):
    address = invited(sign_in(study, "owner"))

    [secret] = parse_qs(urlsplit(address).query)["secret"]
    stored = TeamInvitation.objects.values().get()
    assert secret not in str(stored)
    assert stored["secret_sha256"] == team.hash_of(secret)


def test_somebody_without_an_account_makes_one_and_joins(study):
    address = invited(sign_in(study, "owner"))
    guest = Client()
    account = {"username": "ada", "email": "ada@example.org"}
    account |= {"password1": "a long pass phrase", "password2": "a long pass phrase"}

    response = guest.post(address, account)

    assert response["Location"] == "/studies/s/"
    assert Membership.objects.get(user__username="ada").role == "editor"
    assert guest.get("/studies/s/").status_code == 200
    assert Client().get(address).status_code == 410
    assert study.log.filter(event="invitation accepted", user__username="ada").exists()


def test_a_bad_password_makes_neither_account_nor_member(study):
    address = invited(sign_in(study, "owner"))

    response = Client().post(address, {"username": "ada", "password1": "1", "password2": "1"})

    assert response.status_code == 422
    assert not User.objects.filter(username="ada").exists()
    assert Client().get(address).status_code == 200


def test_somebody_with_an_account_joins_and_keeps_a_higher_role(study):
    owner = sign_in(study, "owner")
    other = member(study, "other", "owner")
    client = Client()
    client.force_login(other)

    client.post(invited(owner, role="viewer"))

    assert Membership.objects.get(user=other).role == "owner"


def test_opening_the_link_changes_nothing(study):
    address = invited(sign_in(study, "owner"))

    assert "as an editor" in Client().get(address).content.decode()
    assert team.open_invitations(study).count() == 1


@pytest.mark.parametrize("end", ["withdrawn", "expired"])
def test_an_ended_link_no_longer_works(study, end):
    owner = sign_in(study, "owner")
    address = invited(owner)
    if end == "withdrawn":
        public_id = TeamInvitation.objects.get().public_id
        owner.post("/studies/s/team/", {"action": "withdraw", "invitation": public_id})
    else:
        TeamInvitation.objects.update(expires_at=timezone.now() - dt.timedelta(seconds=1))
    client = sign_in(make_study(slug="other"))

    assert client.post(address).status_code == 410
    assert study.memberships.count() == 1


def test_an_owner_changes_a_role_and_the_log_says_so(study):
    other = member(study, "other", "viewer")

    sign_in(study, "owner").post(
        "/studies/s/team/", {"action": "role", "user": other.pk, "role": "editor"}
    )

    assert Membership.objects.get(user=other).role == "editor"
    entry = study.log.get(event="role changed")
    assert entry.detail == {"of": "other", "before": "viewer", "after": "editor"}


def test_a_study_always_has_an_owner(study):
    owner = member(study, "owner", "owner")

    with pytest.raises(StudyError, match="only owner"):
        team.set_role(study_id=study.pk, user_id=owner.pk, role="editor", by=owner)
    with pytest.raises(StudyError, match="only owner"):
        team.remove_member(study_id=study.pk, user_id=owner.pk, by=owner)


def test_a_study_is_handed_over(study):
    other = member(study, "other", "viewer")
    client = sign_in(study, "owner")

    client.post("/studies/s/team/hand-over/", {"user": other.pk})

    assert Membership.objects.get(user=other).role == "owner"
    assert study.memberships.exclude(user=other).get().role == "editor"


def test_leaving_a_study_leads_to_the_list_of_studies(study):
    member(study, "other", "owner")
    client = sign_in(study, "owner")
    me = study.memberships.exclude(user__username="other").get().user

    response = client.post("/studies/s/team/", {"action": "remove", "user": me.pk})

    assert response["Location"] == "/studies/"
    assert client.get("/studies/s/").status_code == 404


def test_nobody_changes_members_of_another_study(study):
    elsewhere = make_study(slug="other")
    stranger = member(elsewhere, "stranger", "viewer")

    response = sign_in(study, "owner").post(
        "/studies/s/team/", {"action": "remove", "user": stranger.pk}
    )

    assert response.status_code == 404
    assert elsewhere.memberships.count() == 1


def ended(study, how, owner, leaving):
    """End the rights of `leaving`; what it has given out ends or stays as `owner` says."""
    if how == "left":
        client = Client()
        client.force_login(leaving)
        return client.post("/studies/s/team/", {"action": "remove", "user": leaving.pk})
    if how == "closed account":
        return User.objects.filter(pk=leaving.pk).update(is_active=False)
    if how == "removed by the administration":
        return study.memberships.filter(user=leaving).delete()
    role = how.removeprefix("made ")
    sent = {"user": leaving.pk} | ({"role": role} if role != how else {})
    return owner.post(f"/studies/s/team/{'role' if role != how else 'remove'}/", sent)


@pytest.mark.sampled(keep=1)
@pytest.mark.parametrize(
    "how",
    [
        *("removed", "made viewer", "made editor", "left", "closed account"),
        "removed by the administration",
    ],
)
def test_a_former_owner_cannot_return_by_their_own_invitation(study, how):
    owner, leaving = sign_in(study, "owner"), member(study, "eve", "owner")
    eve = Client()
    eve.force_login(leaving)
    address = invited(eve, role="owner")

    ended(study, how, owner, leaving)
    eve.post(address)
    Client().post(address)

    assert Client().get(address).status_code == 410
    assert not Membership.objects.filter(user=leaving, role="owner", user__is_active=True).exists()


def test_a_closed_account_does_not_count_as_an_owner(study):
    member(study, "gone", "owner")
    User.objects.update(is_active=False)
    owner = sign_in(study, "owner")
    user = study.memberships.latest("pk").user

    page = owner.post("/studies/s/team/", {"action": "remove", "user": user.pk}, follow=True)

    assert "the only owner who can sign in" in page.content.decode()
    assert study.memberships.filter(user=user).exists()
