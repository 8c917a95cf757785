"""Extras of a study: off until wanted, by page, command, API, file and preset."""

import os
import subprocess
import sys
from contextlib import suppress
from importlib import import_module

import pytest
from django.apps import apps
from django.conf import settings
from django.core.management import CommandError, call_command, get_commands
from django.urls import reverse

from studies import extra as manifest
from studies.extra import extras_for_studies
from studies.management.terminal import using
from studies.models import Study, StudyLog
from studies.pages.workbench import section_pages
from studies.services import settings as settings_service
from studies.services.extras import turn_on, turned_on_at
from studies.services.studies import create_study
from tests.factories import make_items, make_study
from tests.judging.conftest import make_judge
from tests.studies.files import jsonl, raw_item

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def as_installed(settings):
    """A new study begins as it does in an installation."""
    settings.EXTRAS_OF_NEW_STUDIES = []


@pytest.fixture
def study(client, django_user_model) -> Study:
    owner = django_user_model.objects.create_user("ada")
    client.force_login(owner)
    return create_study(slug="one", owner=owner, title="One")


def press(client, name, **fields):
    return client.post("/studies/one/settings/extras/", {"extra": name, **fields}, follow=True)


def titles(study):
    return {page.title for page in section_pages.of(study)}


def test_a_study_begins_with_none_and_shows_no_page_of_one(study):
    pytest.importorskip("extras.certificates")
    assert study.extras == []
    assert not study.has_extra("certificates")
    assert study.has_extra("try_out")  # of the installation
    assert not {"Certificates", "Graded answers", "Waves"} & titles(study)


def test_a_press_turns_one_on_and_off_and_its_rows_are_kept(client, study):
    pytest.importorskip("extras.certificates")
    page = press(client, "certificates", on="1")
    study.refresh_from_db()
    assert study.extras == ["certificates"]
    assert "Certificates" in titles(study)
    assert "is on." in page.content.decode()

    press(client, "certificates")
    study.refresh_from_db()
    assert study.extras == []
    assert [
        row.detail["after"]["extras"]
        for row in StudyLog.objects.filter(event=settings_service.SETTINGS_CHANGED).order_by("pk")
    ] == [["certificates"], []]


def test_the_page_of_one_that_is_off_says_what_it_is_and_a_press_turns_it_on(client, study):
    pytest.importorskip("extras.certificates")
    address = reverse("certificates:list", args=["one"])

    seen = client.get(address)
    refused = client.post(address)

    assert (seen.status_code, refused.status_code) == (200, 409)
    assert extras_for_studies()["certificates"].summary in seen.content.decode()
    sent = {"extra": "certificates", "on": "1", "back": address}
    assert client.post("/studies/one/settings/extras/", sent).url == address
    assert "is off in this study" not in client.get(address).content.decode()
    elsewhere = sent | {"back": "https://example.org/studies/one/"}
    assert client.post("/studies/one/settings/extras/", elsewhere).url.endswith("/extras/")


def test_a_form_of_a_page_that_is_off_does_nothing_under_its_own_address_either(client, study):
    pytest.importorskip("extras.audit")
    forms = [f"/studies/{study.slug}/audit/{action}/" for action in ("again", "accept")]

    assert [client.post(address).status_code for address in forms] == [409, 409]


def test_no_address_is_too_deep(client):
    client.raise_request_exception = False
    deep = [client.post("/" + "a/" * depth).status_code for depth in (5, 50, 3_000)]

    assert deep == [404, 404, 404]


def test_only_those_that_are_on_are_imported(tmp_path):
    pytest.importorskip("extras.certificates")
    pytest.importorskip("extras.graded")
    code = (
        "import sys, django; django.setup()\n"
        "from studies.extra import Kind\n"
        "chapters = Kind('chapters')\n"
        "def imported():\n"
        "    return {name.split('.')[1] for name in sys.modules if name.endswith('chapter')}\n"
        "chapters.where({'graded'}.__contains__); print(*imported())\n"
        "list(chapters); print('certificates' in imported())\n"
    )
    local = {"VAR_DIR": str(tmp_path), "DJANGO_SETTINGS_MODULE": "config.settings.dev"}
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=settings.BASE_DIR,
        env=os.environ | local,
        capture_output=True,
        text=True,
        check=True,
    )

    assert done.stdout.splitlines() == ["graded", "True"]


def test_strangers_do_not_learn_whether_a_study_exists(client, study, django_user_model):
    pytest.importorskip("extras.certificates")
    client.force_login(django_user_model.objects.create_user("stranger"))

    assert client.get("/studies/one/settings/extras/").status_code == 404
    assert client.get(reverse("certificates:list", args=["one"])).status_code == 404
    assert press(client, "certificates", on="1").status_code == 404


def test_an_unknown_name_is_refused_with_the_list(client, study):
    assert press(client, "certificate", on="1").status_code == 404
    for option in ("--on", "--off"):
        with pytest.raises(
            CommandError, match=r"^There is no extra “certificate”\. Use names of: a"
        ):
            call_command("extras", "one", option, "certificate")
    with pytest.raises(CommandError, match="There is no extra “certificate”"):
        call_command("create_study", "two", "--extra", "certificate")
    study.refresh_from_db()
    assert study.extras == []


def test_commands_turn_on_and_off_and_list(study, capsys):
    pytest.importorskip("extras.graded")
    pytest.importorskip("extras.rules")
    call_command("extras", "one", "--on", "rules", "--on", "graded")
    call_command("extras", "one", "--off", "graded")

    study.refresh_from_db()
    assert study.extras == ["rules"]
    assert "on   rules" in capsys.readouterr().out
    call_command("create_study", "two", "--draft", "--extra", "rules")
    assert Study.objects.get(slug="two").extras == ["rules"]


@pytest.mark.parametrize("extras", ['"rules"', '["rules", 1]', "{rules = true}", "7"])
@pytest.mark.parametrize("more", [(), ("--extra", "packs")])
def test_a_file_in_which_extras_are_no_list_of_names_is_refused(tmp_path, extras, more):
    file = tmp_path / "study.toml"
    file.write_text(f"extras = {extras}")

    with pytest.raises(CommandError, match=r"extras: Extras must be a list of names\."):
        call_command("create_study", "two", "--from", str(file), *more)
    assert not Study.objects.filter(slug="two").exists()


def test_turning_on_again_says_nothing_and_writes_nothing(study):
    pytest.importorskip("extras.rules")
    assert turn_on(study, "rules", "") == ["Turned on for this study: Rules of disagreement."]
    assert turn_on(study, "rules") == []
    assert list(turned_on_at(study)) == ["rules"]


def test_a_setting_of_an_extra_turns_it_on():
    plain = create_study(slug="plain", title="Plain")
    again = create_study(slug="again", title="Again", perspective="own", retest_share=50)

    assert (plain.extras, again.extras) == ([], ["own_answers"])


def test_every_extra_has_a_title_and_a_sentence():
    for extra in extras_for_studies().values():
        assert extra.title[0].isupper()
        assert extra.summary.endswith(".")
        assert len(extra.summary) <= 160


def test_a_study_made_by_a_test_has_all_of_them(settings):
    settings.EXTRAS_OF_NEW_STUDIES = ["all"]

    assert make_study().extras == list(extras_for_studies())


IN_PAIRS = {"key": "s1", "responses": [{"text": text} for text in ("One.", "Two.", "Three.")]}


@pytest.mark.parametrize(
    ("raw", "options", "extra"),
    [
        (raw_item(advice={"text": "Take the stew.", "favors": "r2"}), [], "advice"),
        (raw_item(**IN_PAIRS), ["--option", "pairs=all"], "option_sets"),
    ],
)
def test_an_import_turns_on_what_its_items_need(study, tmp_path, capsys, raw, options, extra):
    file = tmp_path / "items.jsonl"
    file.write_bytes(jsonl(raw))

    call_command("import_items", "one", str(file), *options, "--dry-run")
    assert Study.objects.get().extras == []
    call_command("import_items", "one", str(file), *options)
    assert Study.objects.get().extras == [extra]
    title = extras_for_studies()[extra].title
    assert f"Turned on for this study: {title}." in capsys.readouterr().out


def test_imported_judgments_turn_on_the_protocol_of_their_setting(study, tmp_path, capsys):
    pytest.importorskip("extras.graded")
    [item] = make_items(study, 1)
    file = tmp_path / "judgments.csv"
    file.write_text(f"item_id,choice\n{item.key},r1\n")

    call_command("import_judgments", "one", str(file), "--judge", "j", "--setting", "score-5")

    assert Study.objects.get().extras == ["graded"]
    assert "Turned on for this study: Graded answers." in capsys.readouterr().err


def test_a_judge_that_is_asked_says_what_was_turned_on(study, capsys):
    pytest.importorskip("extras.graded")
    pytest.importorskip("extras.packs")
    make_items(study, 1)
    make_judge(name="j", base_url="http://127.0.0.1:9/v1")

    call_command("judge", "one", "--judge", "j", "--setting", "score-5", "--yes")
    assert "Turned on for this study: Graded answers." in capsys.readouterr().err
    call_command("judge", "one", "--judge", "j", "--batch", "--yes")
    assert "Turned on for this study: Packs and batches." in capsys.readouterr().err
    assert Study.objects.get().extras == ["graded", "packs"]


def test_an_export_of_everything_has_all_shapes_of_files(study, tmp_path):
    pytest.importorskip("extras.documents")
    call_command("export", "one", "--what", "all", "--out", str(tmp_path / "out"))

    assert Study.objects.get().extras == []
    names = {path.name for path in (tmp_path / "out").rglob("*.*")}
    assert {"wide.csv", "croissant.json", "CITATION.cff"} <= names


@pytest.fixture
def merged(monkeypatch):
    """Earlier versions called a part of `documents` “prints”, and one of `try_out` “peeks”."""
    monkeypatch.setattr(manifest, "_renamed", lambda: {"prints": "documents", "peeks": "try_out"})


def test_names_of_earlier_versions_are_those_of_today(merged, study):
    pytest.importorskip("extras.certificates")
    pytest.importorskip("extras.documents")
    study.extras = ["certificates", "peeks", "prints"]
    study.clean_extras()

    assert study.extras == ["certificates", "documents"]
    call_command("extras", "one", "--on", "prints")
    assert Study.objects.get(slug="one").extras == ["documents"]
    call_command("extras", "one", "--off", "prints")
    assert Study.objects.get(slug="one").extras == []


def test_an_extra_under_its_former_name_was_turned_on_when_the_log_says(merged, study):
    pytest.importorskip("extras.documents")
    call_command("extras", "one", "--on", "documents")
    row = StudyLog.objects.get(event=settings_service.SETTINGS_CHANGED)
    row.detail["after"]["extras"] = ["prints"]
    row.save()
    study.refresh_from_db()

    assert turned_on_at(study) == {"documents": row.created_at}


@pytest.mark.django_db
def test_studies_of_before_have_merged_extras_under_their_names_of_today(study):
    Study.objects.update(extras=["amended_consents", "labelling", "rules", "wordings"])

    for name in ("0006_names_of_merged_extras", "0007_names_of_merged_extras_again"):
        import_module(f"studies.migrations.{name}").rename(apps, None)

    assert Study.objects.get().extras == ["documents", "judges_compared", "rules"]


def test_an_extra_to_leave_out_that_does_not_exist_is_refused():
    ended = subprocess.run(
        [sys.executable, "manage.py", "check"],
        env=os.environ | {"EXTRAS_LEFT_OUT": "sample,nothing"},
        capture_output=True,
        text=True,
        check=False,
    )

    assert ended.returncode != 0
    assert "EXTRAS_LEFT_OUT: there is no extra “nothing”. Use names of: " in ended.stderr


# What a command that turns an extra on is refused for, or only shows, in a study with one item.
KEEPS_OFF = {
    "adjudicate": ["", "--dry-run", "--expert Ada --expert Ada"],
    "arena": ["", "--json", "--open", "--system nobody", "--per-hour 5 --open"],
    "audit": ["", "--json"],
    "certify": ["--judge nobody --out passport.json"],
    "change_personas": ["--whole --dry-run", "--feature age --new two", "--items 0"],
    "debates": ["", "--judge nobody --dry-run", "--judge nobody", "--jury none --dry-run"],
    "draft_profiles": ["--judge nobody --dry-run", "--judge nobody"],
    "draw_items": ["", "--judge nobody --items 1", "--by-topic"],
    "export": ["--what items --format parquet --out {file}/items.parquet"],
    "find_rules": ["", "--dry-run"],
    "freeze_plan": ["--dry-run", "--analyses nothing"],
    "import_annotations": ["{file} --adjudication", "{file} --grades --dry-run"],
    "import_wording": ["{file} --recover"],
    "improve_judge": ["", "--dry-run", "--next 3"],
    "judge_datasheet": ["--judge nobody --dry-run", "--judge nobody"],
    "label": ["--judge nobody --passport {file}"],
    "link_study": ["--new one", "--new two --persons 0", "--new two --wave nothing"],
    "plan": ["--items 40 --json"],
    "prolific": ["walk", "ledger", "demographics"],
    "recheck": ["--study one", "--study one --dry-run"],
    "report": ["--paper --out {file}"],
    "tables": ["--out {file}"],
    "watch": ["--judge nobody", "--judge nobody --dry-run"],
}


@pytest.mark.parametrize("name", KEEPS_OFF)
def test_a_command_that_fails_or_only_shows_turns_nothing_on(study, tmp_path, name):
    if name not in get_commands():
        pytest.skip("of an extra that was taken out")
    make_items(study, 1)
    file = tmp_path / "file.csv"
    file.write_text("a,b\n1,2\n")

    for options in KEEPS_OFF[name]:
        study_first = [] if "--study" in options else ["one"]
        words = options.format(file=file).split()
        if name == "prolific":
            words, study_first = [*words, "one"], []
        with suppress(CommandError, SystemExit):
            call_command(name, *study_first, *words)
        assert Study.objects.get(slug="one").extras == [], options
        assert not Study.objects.exclude(slug="one").exists()


def test_every_command_that_turns_an_extra_on_is_tried():
    own = {
        name
        for name, app in get_commands().items()
        if vars(import_module(f"{app}.management.commands.{name}")).get("using") is using
    }

    assert own - KEEPS_OFF.keys() == set()


def test_what_a_block_stored_stays_only_if_it_ends_well(study, capsys):
    pytest.importorskip("extras.rules")
    with suppress(ZeroDivisionError), using(study, "rules"):
        assert Study.objects.get().has_extra("rules")
        raise ZeroDivisionError
    assert Study.objects.get().extras == []
    assert not capsys.readouterr().err

    with using(study, "rules"):
        pass
    assert Study.objects.get().extras == ["rules"]
    assert capsys.readouterr().err == "Turned on for this study: Rules of disagreement.\n"
