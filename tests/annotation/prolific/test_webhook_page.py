"""Subscribing to Prolific's events from the recruiting page."""

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.urls import reverse

from annotation.models import Recruitment
from tests.annotation.prolific.life import launched, make_recruiting

pytestmark = pytest.mark.django_db


@pytest.fixture
def study(prolific, settings):
    settings.PUBLIC_BASE_URL = "https://study.example.org"
    settings.PROLIFIC_WEBHOOK_SECRET = ""
    return launched(make_recruiting()).study


@pytest.fixture
def editor(db) -> Client:
    client = Client()
    client.force_login(User.objects.create_superuser("ada"))
    return client


def subscribe(editor, study):
    return editor.post(
        reverse("people:prolific", args=[study.slug]), {"action": "webhooks"}, follow=True
    )


def home(editor, study) -> str:
    return editor.get(reverse("people:prolific", args=[study.slug])).content.decode()


def test_subscribing_shows_the_secret_once(study, editor, prolific):
    assert "Subscribe to webhooks" in home(editor, study)

    page = subscribe(editor, study)

    assert f"PROLIFIC_WEBHOOK_SECRET={prolific.world.hook_secret}" in page.content.decode()
    assert all(hook.confirmed for hook in prolific.world.hooks.values())
    assert prolific.world.hook_secret not in home(editor, study)
    assert "Notifications rejected" in home(editor, study)


def test_a_failure_is_reported_and_leaves_the_study_unsubscribed(study, editor, prolific):
    prolific.fault("POST", "hooks/subscriptions/", "500")

    page = subscribe(editor, study)

    assert [message.level_tag for message in page.context["messages"]] == ["error"]
    assert not Recruitment.objects.filter(webhooks_at__isnull=False).exists()
