from collections.abc import Iterator
from unittest.mock import patch

import pytest
from django.contrib.auth.models import User
from django.core.cache import cache

from annotation.models import ProlificStudy
from annotation.prolific.api.client import Client
from annotation.prolific.launch import launch_checks
from demo.prolific.server import TOKEN, SimulatedProlific, start
from studies.models import Study
from tests.annotation.prolific.life import make_recruiting, published


@pytest.fixture
def prolific(settings) -> Iterator[SimulatedProlific]:
    """A simulated Prolific over real HTTP on loopback; the settings point to it."""
    simulated = SimulatedProlific()
    http = start(simulated)
    settings.PROLIFIC_BASE_URL = f"http://127.0.0.1:{http.server_address[1]}"
    settings.PROLIFIC_API_TOKEN = TOKEN
    settings.PROLIFIC_PATIENCE = 0.0
    settings.PROLIFIC_TIMEOUT = 5.0
    cache.clear()  # keys of links that another simulation signed
    yield simulated
    http.shutdown()
    http.server_close()


@pytest.fixture
def waits() -> list[float]:
    """What the client would have slept."""
    return []


@pytest.fixture
def client_of(prolific, settings, waits):
    def build(**overrides) -> Client:
        options = {
            "base_url": settings.PROLIFIC_BASE_URL,
            "token": TOKEN,
            "timeout": 5.0,
            "patience": 60.0,
            "sleep": waits.append,
        }
        return Client(**options | overrides)

    return build


@pytest.fixture
def study() -> Study:
    return make_recruiting()


@pytest.fixture
def row(study: Study, prolific: SimulatedProlific) -> ProlificStudy:
    """The study, taking people on the simulated Prolific; who tests its opening opens it itself."""
    with patch.object(launch_checks, "registered_checks", return_value=[]):
        return published(study)


@pytest.fixture
def user() -> User:
    return User.objects.create_user("researcher")
