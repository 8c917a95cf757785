"""The site as a whole: headers, health, production settings, access log."""

import gzip
import logging
import os
import re
import shutil
import subprocess
import sys
import time
from base64 import b64encode
from datetime import timedelta
from functools import partial
from hashlib import sha256
from pathlib import Path
from types import SimpleNamespace

import pytest
from django.contrib.auth.models import User
from django.db.migrations.recorder import MigrationRecorder
from django.utils import timezone

from config import celery, health, migrate
from config.celery import refuse_another_clock, refuse_other_files, store_heartbeat
from config.health import processes
from config.log_lines import TextLines
from config.processes import ProcessDied, Processes
from config.static_files import StaticFiles
from studies.models import Heartbeat, Item
from studies.statements import clock
from tests.annotation.pages.walking import start
from tests.factories import make_items, make_study
from tests.servers import free_port

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.django_db
def test_pages_carry_a_strict_policy_and_no_referrer(client):
    response = client.get("/accounts/login/", follow=True)

    policy = response.headers["Content-Security-Policy"]
    assert response.status_code == 200
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy
    assert response.headers["Referrer-Policy"] == "no-referrer"
    assert response.headers["X-Frame-Options"] == "DENY"


@pytest.fixture
def heartbeat(settings, tmp_path) -> Path:
    """The heartbeat of a worker that takes messages from a folder."""
    settings.CELERY_BROKER_URL = "filesystem://"
    settings.VAR_DIR = tmp_path
    (tmp_path / "queue" / "messages").mkdir(parents=True)
    settings.WORKER_HEARTBEAT = tmp_path / "worker.heartbeat"
    settings.WORKER_HEARTBEAT.touch()
    return settings.WORKER_HEARTBEAT


@pytest.mark.django_db
@pytest.mark.usefixtures("heartbeat")
def test_health_is_good_while_a_worker_sends_heartbeats(client):
    response = client.get("/healthz")

    assert response.status_code == 200
    assert response.json() == {
        "status": "degraded",
        "database": "ok",
        "broker": "ok",
        "storage": "ok",
        "clock": "ok",
        "disk": "ok",
        "worker": "never heard from",
        "judge_worker": "never heard from",
        "schedule": "never heard from",
    }


@pytest.fixture
def unseen(monkeypatch):
    """As after a start: nobody has looked at the migrations yet."""
    # A process that starts has no transaction open.
    monkeypatch.setattr(health.connection, "close", lambda: None)
    monkeypatch.setattr("config.health._looked_up", None)


@pytest.mark.django_db
@pytest.mark.usefixtures("unseen")
def test_health_is_bad_while_a_migration_is_missing(client):
    row = MigrationRecorder.Migration.objects.filter(app="annotation").latest("pk")
    row.delete()
    response = client.get("/healthz")

    assert response.status_code == 503
    assert response.json()["database"] == "migrations missing"
    row.save()
    assert client.get("/healthz").json()["database"] == "ok"


@pytest.mark.django_db
@pytest.mark.parametrize("role", Heartbeat.Role.values)
def test_health_names_the_worker_and_the_schedule_that_are_silent(role, admin_client):
    for each in Heartbeat.Role.values:
        store_heartbeat(each)
    assert {state for name, state in processes().items()} == {"ok"}

    Heartbeat.objects.filter(role=role).update(seen_at=clock.now() - timedelta(minutes=5))

    words = "silent for 300 seconds"
    assert admin_client.get("/healthz").json()[role] == words


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("total", "free", "is_short"),
    [(100, 0.4, True), (100, 0.6, False), (0.4, 0.3, False), (0.4, 0.03, True)],
)
def test_health_names_a_disk_that_is_short_of_space(
    total, free, is_short, admin_client, monkeypatch, settings
):
    real = shutil.disk_usage

    def usage(path):
        found = real(path)
        if path != Path(settings.VAR_DIR):
            return found._replace(total=10**12, free=10**11)
        return found._replace(total=int(total * 1e9), free=int(free * 1e9))

    monkeypatch.setattr("shutil.disk_usage", usage)
    monkeypatch.setattr("config.health.broker_state", lambda: "ok")

    response = admin_client.get("/healthz")

    words = f"{free * 1000:,.0f} MB free on the disk of files"
    assert response.status_code == 200
    assert (words in response.json()["disk"]) == is_short
    assert (response.json()["disk"] == "ok") == (not is_short)


@pytest.mark.django_db
def test_a_workers_queues_determine_its_role(settings, tmp_path):
    settings.WORKER_HEARTBEAT = tmp_path / "none" / "worker.heartbeat"
    celery._stop.set()

    celery._beat(settings.WORKER_HEARTBEAT, ["worker", "judge_worker"])

    assert set(Heartbeat.objects.values_list("role", flat=True)) == {"worker", "judge_worker"}


@pytest.fixture
def newer_tables() -> None:
    MigrationRecorder.Migration.objects.create(app="studies", name="9999_of_the_future")


@pytest.mark.django_db
@pytest.mark.usefixtures("unseen", "newer_tables")
def test_everything_refuses_a_database_that_a_newer_version_has_migrated(client, monkeypatch):
    assert client.get("/healthz").json()["database"] == "newer than the program"
    monkeypatch.setattr("config.migrate.migrate", lambda: pytest.fail("migrated"))
    amqp = SimpleNamespace(queues=SimpleNamespace(consume_from={"judging": None}))
    worker = SimpleNamespace(app=SimpleNamespace(amqp=amqp))

    for refuse in (
        migrate.main,
        refuse_another_clock,
        partial(refuse_other_files, sender=worker),
    ):
        with pytest.raises(SystemExit, match="studies 9999_of_the_future"):
            refuse()
    assert "The database is newer than this program" in health.refusal()


@pytest.mark.django_db
@pytest.mark.usefixtures("unseen")
@pytest.mark.parametrize(
    ("seconds", "sentence"),
    [(12, "12 seconds ahead of that"), (-300, "300 seconds behind that"), (9, ""), (-9, "")],
)
def test_a_process_with_another_clock_does_not_start_and_says_so_later(
    seconds, sentence, client, monkeypatch
):
    right = timezone.now
    monkeypatch.setattr(
        timezone, "now", lambda: right() + timedelta(seconds=seconds, microseconds=9)
    )

    refused = health.refusal()

    assert bool(refused) == bool(sentence)
    assert sentence in refused
    assert (client.get("/healthz").json()["clock"] == "ok") == (not sentence)


@pytest.mark.django_db
@pytest.mark.usefixtures("unseen")
def test_health_looks_at_migrations_once_a_minute(client, django_assert_num_queries):
    client.get("/healthz")

    with django_assert_num_queries(2):  # one of them for the signs of life
        client.get("/healthz")


@pytest.mark.django_db
@pytest.mark.parametrize(
    "path", ["/accounts/login/", "/studies/", "/studies/none/", "/s/none/", "/admin/", "/shared/x/"]
)
def test_no_page_is_cached(client, path):
    User.objects.create_superuser("ada")
    client.force_login(User.objects.get())

    response = client.get(path)

    assert "no-store" in response.headers["Cache-Control"]
    assert "public" not in response.headers["Cache-Control"]


def in_production(folder: Path, *command: str, **variables: str) -> str:
    """What Python prints with the settings of a server."""
    environment = {
        **os.environ,
        "DJANGO_SETTINGS_MODULE": "config.settings.base",
        "SECRET_KEY": "k" * 30 + "0123456789abcdefghijklmnopqrstuvwxyz",
        "PUBLIC_BASE_URL": "https://judge.example.org",
        "VAR_DIR": str(folder),
        **variables,
    }
    command = (sys.executable, *command)
    done = subprocess.run(
        command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def settings_of(folder: Path, *names: str, **variables: str) -> list[str]:
    script = f"from django.conf import settings as s; print(*(getattr(s, n) for n in {names}))"
    return in_production(folder, "-c", script, **variables).split()


def test_other_hosts_get_no_https_policy_unless_configured(tmp_path):
    hsts = [f"SECURE_HSTS_{name}" for name in ("SECONDS", "INCLUDE_SUBDOMAINS", "PRELOAD")]
    asked = {"SECURE_HSTS_INCLUDE_SUBDOMAINS": "1", "SECURE_HSTS_PRELOAD": "1"}

    assert settings_of(tmp_path, *hsts) == ["31536000", "False", "False"]
    assert settings_of(tmp_path, *hsts, **asked) == ["31536000", "True", "True"]


@pytest.mark.parametrize(("scheme", "prefix"), [("https", "__Host-"), ("http", "")])
def test_cookies_of_accounts_belong_to_this_host_alone(tmp_path, scheme, prefix):
    names = ["SESSION_COOKIE_NAME", "CSRF_COOKIE_NAME", "SESSION_COOKIE_PATH"]
    names += ["SESSION_COOKIE_DOMAIN", "SESSION_COOKIE_SECURE"]

    said = settings_of(tmp_path, *names, PUBLIC_BASE_URL=f"{scheme}://judge.example.org")

    secure = str(scheme == "https")
    assert said == [f"{prefix}sessionid", f"{prefix}csrftoken", "/", "None", secure]


@pytest.mark.django_db
def test_health_is_bad_when_the_worker_has_gone(client, heartbeat):
    long_ago = time.time() - 60
    os.utime(heartbeat, (long_ago, long_ago))

    response = client.get("/healthz")

    assert response.status_code == 503
    assert response.json()["broker"] == "no worker"


@pytest.mark.django_db
def test_health_is_bad_when_the_broker_does_not_answer(client, settings):
    settings.CELERY_BROKER_URL = f"redis://127.0.0.1:{free_port()}/0"

    response = client.get("/healthz")

    assert response.status_code == 503
    assert response.json()["broker"] == "unreachable"


@pytest.mark.nightly
def test_production_settings_pass_the_deployment_check(tmp_path):
    command = ("manage.py", "check", "--deploy", "--fail-level", "WARNING")

    said = in_production(tmp_path, *command, DATABASE_URL="postgresql://nobody@localhost/none")

    assert "no issues" in said


def test_a_message_is_one_line_whatever_was_typed_into_it():
    record = logging.LogRecord("a", logging.INFO, "", 1, "user %s", ("x\nFORGED\x1b[31m",), None)

    assert TextLines("%(message)s").format(record) == r"user x\nFORGED\x1b[31m"


def test_a_process_that_dies_is_named():
    processes = Processes()
    processes.start("short", [sys.executable, "-c", "raise SystemExit(3)"]).wait()

    with pytest.raises(ProcessDied, match="short ended with exit code 3"):
        processes.check()
    processes.stop()


def test_a_script_imports_others_by_the_names_that_hold_their_hashes(tmp_path):
    for script in Path(ROOT, "static/js").glob("*.js"):
        (tmp_path / script.name).write_bytes(script.read_bytes())
    storage = StaticFiles(location=tmp_path, base_url="/static/")

    found = {path.name: (storage, path.name) for path in tmp_path.glob("*.js")}
    renamed = storage.post_process(found)
    hashed = {name: new for name, new, _ in renamed if new.endswith(".js")}

    for name, imported in {"annotator": "annotator-sending.js", "editors": "researcher.js"}.items():
        script = (tmp_path / hashed[f"{name}.js"]).read_text()
        assert f'"./{hashed[imported]}"' in script
        assert f'{imported}"' not in script


@pytest.mark.django_db
def test_large_participants_pages_are_compressed_and_those_that_show_a_query_are_not(client):
    study = make_study(items_per_annotator=2)
    items = make_items(study, 2, r1={"text": "One word after the other. " * 200})
    start(study, client=client)
    takes = {"headers": {"accept-encoding": "gzip"}}
    item = f"/s/{study.slug}/task/1/"

    page = client.get(item, **takes)
    secure = [client.get(f"{item}?a=b", **takes), client.get("/accounts/login/", **takes)]
    Item.objects.filter(pk__in=[each.pk for each in items]).update(r1={"text": "Short."})
    small = client.get(item, **takes)

    assert page.headers["Content-Encoding"] == "gzip"
    assert "Accept-Encoding" in page.headers["Vary"]
    assert b"data-item-form" in gzip.decompress(page.content)
    assert len(page.content) < 7_000
    assert [response.headers.get("Content-Encoding") for response in secure] == [None, None]
    assert "Content-Encoding" not in small.headers
    assert len(small.content) < 14_000


@pytest.mark.django_db
def test_a_page_that_is_opened_from_elsewhere_holds_its_styles_and_scripts(client):
    study = make_study(items_per_annotator=2, state="open")
    make_items(study, 2)
    start(study, client=client)
    item = f"/s/{study.slug}/task/1/"

    def page(**headers):
        return client.get(item, headers={"sec-fetch-dest": "document"} | headers)

    from_here = page(**{"sec-fetch-site": "same-origin"})
    inside = [
        page(**{"sec-fetch-site": "cross-site"}),
        page(**{"sec-fetch-site": "none"}),
        page(**{"sec-fetch-site": "same-origin", "cache-control": "max-age=0"}),
    ]

    assert "<style>" not in from_here.text
    assert "sha256" not in from_here.headers["Content-Security-Policy"]
    for response in inside:
        policy = response.headers["Content-Security-Policy"]
        for kind in ("style", "script"):
            texts = re.findall(rf"<{kind}[^>]*>(.+?)</{kind}>", response.text, re.DOTALL)
            hashes = [b64encode(sha256(text.encode()).digest()).decode() for text in texts]
            named = " ".join(["'self'", *(f"'sha256-{one}'" for one in hashes)])
            assert len(texts) == 2
            assert f"{kind}-src {named};" in policy
        assert not re.search("^(import|export) ", response.text, re.MULTILINE)
        assert response.text.count("function showItem") == 1
        assert response.headers["Content-Length"] == str(len(response.content))


def test_participants_styles_and_scripts_can_be_inlined():
    """There they are at another address, and the end of their tag would end them."""
    refused = {
        "js": r"</script|\bimport\(|import\.meta|^export (?!(async )?function )",
        "css": r"</style|url\(|@import",
    }
    files = [*Path(ROOT, "static").glob("*/annotator*"), Path(ROOT, "static/css/base.css")]
    assert len(files) > 5
    for file in files:
        assert not re.search(refused[file.suffix[1:]], file.read_text(), re.MULTILINE), file


@pytest.mark.django_db
def test_a_missing_page_has_a_way_home_for_who_is_signed_in(client):
    assert 'href="/studies/"' not in client.get("/nothing/here/").content.decode()
    client.force_login(User.objects.create_user("ada"))

    assert 'href="/studies/"' in client.get("/nothing/here/").content.decode()
