"""The page of components, for those who build pages."""

import re
from pathlib import Path

from django.contrib.auth.models import User
from django.urls import reverse

from extras.administration.components import COLOURS

STYLES = Path(__file__).resolve().parents[3] / "static/css"


def test_staff_see_every_component(client, db):
    client.force_login(User.objects.create_user("ada", is_staff=True))

    page = client.get(reverse("components"))

    assert page.status_code == 200
    for heading in ("Buttons", "Task list", "Cards", "Tables", "Forms", "Messages"):
        assert f">{heading}</h2>" in page.text


def test_others_are_sent_to_sign_in(client, db):
    client.force_login(User.objects.create_user("ada"))

    assert client.get(reverse("components")).status_code == 302


def test_every_colour_shown_exists():
    styles = "".join((STYLES / name).read_text("utf-8") for name in ("base.css", "researcher.css"))

    defined = set(re.findall(r"--([a-z-]+):", styles))

    assert {name for name, _ in COLOURS} <= defined
