from collections.abc import Iterator
from contextlib import contextmanager
from copy import deepcopy

import pytest
from django.contrib.auth.models import User
from django.core.cache import cache
from django.test import override_settings

from annotation.models import ProlificStudy
from annotation.prolific.api.client import ProlificClient
from demo.prolific.server import TOKEN, SimulatedProlific, start
from demo.prolific.world import ProlificWorld
from studies.models import Study
from tests.annotation.prolific.life import make_recruiting, published


@contextmanager
def served(world: ProlificWorld | None = None) -> Iterator[SimulatedProlific]:
    """A simulated Prolific over real HTTP on loopback; the settings point to it."""
    simulated = SimulatedProlific(world)
    http = start(simulated)
    here = {
        "PROLIFIC_BASE_URL": f"http://127.0.0.1:{http.server_address[1]}",
        "PROLIFIC_API_TOKEN": TOKEN,
        "PROLIFIC_PATIENCE": 0.0,
        "PROLIFIC_TIMEOUT": 5.0,
    }
    cache.clear()  # keys of links that another simulation signed
    try:
        with override_settings(**here):
            yield simulated
    finally:
        http.shutdown()
        http.server_close()


@pytest.fixture(scope="module")
def published_once(module_db: None) -> tuple[ProlificWorld, int]:
    """A study on the simulated Prolific, taking people: published once for a whole module.

    Tests that commit cannot use it, or stand in its module: it is in an open transaction.
    """
    with served() as simulated:
        row = published(make_recruiting())
    return simulated.world, row.pk


@pytest.fixture
def prolific(request: pytest.FixtureRequest) -> Iterator[SimulatedProlific]:
    """A simulated Prolific of the test's own; with a `row`, the one where that is published."""
    world = None
    if "row" in request.fixturenames:
        world = copied(request.getfixturevalue("published_once")[0])
    with served(world) as simulated:
        yield simulated


def copied(world: ProlificWorld) -> ProlificWorld:
    """The same state, which a test may change."""
    copy = ProlificWorld()
    for name, value in vars(world).items():
        if name not in ("lock", "keys"):
            setattr(copy, name, deepcopy(value))
    copy.keys = world.keys
    return copy


@pytest.fixture
def waits() -> list[float]:
    """What the client would have slept."""
    return []


@pytest.fixture
def client_of(prolific, settings, waits):
    def build(**overrides) -> ProlificClient:
        options = {
            "base_url": settings.PROLIFIC_BASE_URL,
            "token": TOKEN,
            "timeout": 5.0,
            "patience": 60.0,
            "sleep": waits.append,
        }
        return ProlificClient(**options | overrides)

    return build


@pytest.fixture
def study(request: pytest.FixtureRequest) -> Study:
    """A study that can be published; with a `row`, the one that is."""
    if "row" in request.fixturenames:
        return Study.objects.get(prolific_studies=request.getfixturevalue("published_once")[1])
    return make_recruiting()


@pytest.fixture
def row(published_once: tuple[ProlificWorld, int], prolific: SimulatedProlific) -> ProlificStudy:
    """A study taking people on the simulated Prolific; who tests its opening opens it itself."""
    return ProlificStudy.objects.get(pk=published_once[1])


@pytest.fixture
def user() -> User:
    return User.objects.create_user("researcher")
