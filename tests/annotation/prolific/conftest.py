from collections.abc import Iterator

import pytest

from annotation.prolific.client import Client
from demo.prolific.server import TOKEN, SimulatedProlific, start


@pytest.fixture
def prolific(settings) -> Iterator[SimulatedProlific]:
    """A simulated Prolific over real HTTP on loopback; the settings point to it."""
    simulated = SimulatedProlific()
    http = start(simulated)
    settings.PROLIFIC_BASE_URL = f"http://127.0.0.1:{http.server_address[1]}"
    settings.PROLIFIC_API_TOKEN = TOKEN
    settings.PROLIFIC_PATIENCE = 0.0
    settings.PROLIFIC_TIMEOUT = 5.0
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
