"""A running product for end-to-end tests."""

import os
import shutil
import sys
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
import redis

from tests.e2e.stack import Stack
from tests.migrated import TEMPLATE, own_database


@pytest.fixture
def stack() -> Iterator[Stack]:
    """Processes on free ports over a database without rows; not started yet."""
    if broker := os.environ.get("CELERY_BROKER_URL"):
        with redis.Redis.from_url(broker) as client:
            client.flushdb()
    folder = Path(tempfile.mkdtemp(prefix="thirdperson-e2e-"))
    with ExitStack() as databases:
        url = os.environ.get("DATABASE_URL", "")
        if url:
            url = databases.enter_context(own_database(url, os.environ.get(TEMPLATE, "template1")))
        stack = Stack(folder, url)
        try:
            yield stack
        finally:
            stack.stop()
            for log in folder.rglob("processes.log"):
                sys.stdout.write(f"\n{log}\n{log.read_text('utf-8')[-5000:]}")  # shown on failure
    shutil.rmtree(folder)
