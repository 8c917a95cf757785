"""What a visitor of the demo meets: a link that works again, and advice that fits the scale."""

import json
import re
from urllib.parse import parse_qs, urlsplit

import pytest
import requests
from django.conf import settings as configured
from django.test import Client

from annotation.models import Annotator
from annotation.prolific.sync.sync import follow
from demo.prolific.server import TOKEN, SimulatedProlific, start
from demo.studies import CHECK_ITEMS
from studies.prompts import BANDS
from tests.annotation.prolific.life import make_recruiting, published


@pytest.fixture
def prolific(settings):
    simulated = SimulatedProlific()
    http = start(simulated)
    settings.PROLIFIC_BASE_URL = f"http://127.0.0.1:{http.server_address[1]}"
    settings.PROLIFIC_API_TOKEN = TOKEN
    settings.PROLIFIC_PATIENCE = 0.0
    yield simulated
    http.shutdown()
    http.server_close()


@pytest.mark.django_db
def test_the_link_of_the_demo_makes_somebody_new_each_time(prolific):
    study = make_recruiting()
    row = published(study)
    base = configured.PROLIFIC_BASE_URL
    visit = f"{base}/simulate/visit?study={row.prolific_id}"

    for number in (1, 2):
        response = requests.get(visit, allow_redirects=False, timeout=60)
        link = urlsplit(response.headers["Location"])
        assert response.status_code == 302
        came = Client().get(f"{link.path}?{link.query}")
        assert came.headers["Location"] == f"/s/{study.slug}/consent/"
        assert Annotator.objects.count() == number
        assert len(parse_qs(link.query)["PROLIFIC_PID"][0]) == 24
    follow(study_id=study.pk)

    shown = prolific.world.show_study(row.prolific_id)
    assert prolific.world.people(prolific.world.study(row.prolific_id)) == []
    assert shown["status"] == "ACTIVE"


@pytest.mark.django_db
def test_the_link_of_a_named_annotator_leads_back_to_the_same_one(prolific):
    study = make_recruiting()
    row = published(study)
    visit = f"{configured.PROLIFIC_BASE_URL}/simulate/visit?study={row.prolific_id}"

    pids = []
    for name in ("Ada", "Ben", "Ada"):
        response = requests.get(f"{visit}&person={name}", allow_redirects=False, timeout=60)
        link = urlsplit(response.headers["Location"])
        Client().get(f"{link.path}?{link.query}")
        pids.append(parse_qs(link.query)["PROLIFIC_PID"][0])

    assert pids[0] == pids[2] != pids[1]
    assert Annotator.objects.count() == 2


def test_the_feedback_of_a_practice_item_agrees_with_the_levels():
    """The number that is recommended for a hint lies in the level that speaks of hints."""
    lines = CHECK_ITEMS.read_text("utf-8").splitlines()
    advice = [json.loads(line)["metadata"].get("feedback", "") for line in lines]
    (level,) = [band for band in BANDS if "hint" in band.definition]

    ranges = [re.search(r"from (\d+) to (\d+)", text) for text in advice if "hint" in text]

    assert ranges
    for found in ranges:
        assert (int(found[1]), int(found[2])) == (level.low, level.high)
