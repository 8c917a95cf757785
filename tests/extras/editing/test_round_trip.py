"""Another installation rebuilds a study from its files to the byte."""

import io
import json
import tomllib

import pytest
from django.core.management import CommandError, call_command

from judging.models import Judge, PromptTemplate
from studies.extra import extras_for_studies
from studies.models import Item, Study
from studies.models.added_settings import read_added
from studies.services.studies import create_study
from studies.services.whole_studies import copy_study
from tests.extras.editing.made import SETTINGS, export, forget, whole_study

pytestmark = pytest.mark.django_db


def apply(path, **options):
    """What the command prints."""
    out = io.StringIO()
    call_command("apply", path / "study.toml", stdout=out, stderr=io.StringIO(), **options)
    return out.getvalue()


def seats(study):
    return {
        item.key: (item.seats_needed, item.draw_probability)
        for item in Item.everything.filter(study=study)
    }


def test_the_whole_study_has_another_value_than_the_default_in_every_setting():
    study, plain = whole_study(), Study()

    names = {f.name for f in Study._meta.concrete_fields if f.editable and not f.primary_key}
    names -= {"slug", "state", "created_at"}
    names -= {"set_display"}  # excludes answers for oneself and a draw by a judge: see below
    assert names <= SETTINGS.keys()
    # With this extra alone, there is no other to turn on.
    for name in SETTINGS if extras_for_studies() else SETTINGS.keys() - {"extras"}:
        assert getattr(study, name) != getattr(plain, name), name


@pytest.mark.nightly
def test_an_export_that_is_applied_to_an_empty_database_gives_the_same_bytes(tmp_path):
    study = whole_study()
    first, seated, content = export(study, tmp_path / "one"), seats(study), study.content_hash
    added = read_added(study)
    forget(study)
    assert not Study.objects.exists()
    assert not Judge.objects.exists()

    apply(tmp_path / "one", yes=True)

    rebuilt = Study.objects.get(slug="suppers")
    assert export(rebuilt, tmp_path / "two") == first
    assert (rebuilt.content_hash, seats(rebuilt)) == (content, seated)
    assert rebuilt.state == Study.State.DRAFT
    assert read_added(rebuilt) == added
    assert PromptTemplate.objects.filter(study=rebuilt).count() == 3


@pytest.mark.sampled(keep=1)
@pytest.mark.parametrize("settings", [{}, {"set_display": "whole"}], ids=["plain", "whole sets"])
def test_a_simple_study_is_rebuilt_too(tmp_path, settings):
    first = export(create_study(slug="plain", **settings), tmp_path / "one")
    forget(Study.objects.get(slug="plain"))

    apply(tmp_path / "one", yes=True)

    rebuilt = Study.objects.get(slug="plain")
    assert export(rebuilt, tmp_path / "two") == first
    assert rebuilt.set_display == settings.get("set_display", "pairs")


def test_the_files_hold_no_key_no_user_and_nothing_of_this_installation(tmp_path):
    study = whole_study()

    files = export(study, tmp_path / "one")

    everything = b"\n".join(files.values())
    assert b"JUDGE_KEY_ONE" in files["judges.toml"]
    for secret in ("SECRET", "somebody", study.export_key):
        assert secret.encode() not in everything


def test_the_files_do_not_depend_on_the_order_of_keys_in_a_database(tmp_path):
    """PostgreSQL sorts the keys of objects by length, SQLite keeps them as they were given."""
    study = whole_study()
    first = export(study, tmp_path / "one")

    for group in study.quota_groups.all():
        group.criteria = dict(reversed(group.criteria.items()))
        group.save()
    study.criteria = [dict(reversed(each.items())) for each in study.criteria]
    study.source = dict(reversed(study.source.items()))
    study.save()
    for persona in study.personas.all():
        persona.features = [dict(reversed(each.items())) for each in persona.features]
        persona.save()

    assert export(study, tmp_path / "two") == first


def test_a_copy_of_a_study_keeps_the_judges_of_its_design(tmp_path):
    study = whole_study()
    copy = copy_study(study_id=study.pk, slug="copy", title="Copy", with_items=True)

    first, second = (
        tomllib.loads(export(each, tmp_path / each.slug)["judges.toml"].decode())
        for each in (study, copy)
    )

    assert [judge["name"] for judge in first["judge"]] == ["careful", "other", "steady"]
    assert second == first | {"jury": []}


def test_items_are_in_the_same_order_on_every_database(tmp_path):
    study = whole_study()

    lines = export(study, tmp_path / "one")["items.jsonl"].decode().splitlines()

    keys = [json.loads(line)["id"] for line in lines]
    assert keys == sorted(keys)
    assert len(keys) == 8


def test_nothing_differs_after_an_export(tmp_path):
    study = whole_study()
    export(study, tmp_path / "one")
    logged = study.log.count()

    said = apply(tmp_path / "one", yes=True)

    assert "does not differ" in said
    assert study.log.count() == logged


@pytest.mark.nightly
def test_without_yes_a_new_study_is_described_and_not_created(tmp_path):
    study = whole_study()
    export(study, tmp_path / "one")
    forget(study)

    with pytest.raises(CommandError, match=r"Nothing was changed\. Add --yes to create") as error:
        apply(tmp_path / "one")

    assert error.value.returncode == 3
    assert not Study.objects.exists()
    assert not Judge.objects.exists()
