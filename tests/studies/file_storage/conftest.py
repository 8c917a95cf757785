"""Every storage, for tests of what all of them do."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from config.env import files
from tests.s3_server import S3Server


@pytest.fixture
def s3(monkeypatch: pytest.MonkeyPatch) -> Iterator[S3Server]:
    """A server for buckets, with the variables that lead boto3 to it."""
    server = S3Server()
    for name, value in server.environment.items():
        monkeypatch.setenv(name, value)
    yield server
    server.stop()


@pytest.fixture
def use(settings: Any, tmp_path: Path) -> Callable[[str], None]:
    """Choose the storage by a value of FILES."""
    settings.VAR_DIR = tmp_path / "var"
    settings.VAR_DIR.mkdir()

    def choose(value: str) -> None:
        settings.FILES = files(value)
        settings.STORAGES = {**settings.STORAGES, "files": settings.FILES}

    return choose


@pytest.fixture(params=["folder", "s3://bucket/some/prefix"])
def storage(request: pytest.FixtureRequest, use: Callable[[str], None], db: None) -> str:
    if request.param.startswith("s3"):
        request.getfixturevalue("s3")
    use(request.param)
    return str(request.param)
