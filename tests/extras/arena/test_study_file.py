"""The design of an arena as files: the same again changes nothing, and a fault is named."""

import io

import pytest
from django.core.management import CommandError, call_command

from extras.arena.models import Arena
from extras.arena.seats import arena_of
from extras.arena.setup import open_arena
from tests.extras.arena.building import make_arena
from tests.extras.turning_off import refusal, turn_off
from tests.factories import make_study

pytest.importorskip("extras.editing")  # reads and writes studies as files
pytestmark = pytest.mark.django_db(transaction=True)


def apply(path, **options):
    out = io.StringIO()
    call_command("apply", path / "study.toml", stdout=out, stderr=io.StringIO(), **options)
    return out.getvalue()


def test_an_arena_is_rebuilt_from_its_files(llm, engine, tmp_path):
    arena = make_arena(llm, forbidden="soup", state="draft")
    slug = arena.study.slug
    call_command("export", slug, "--what", "study", "--out", tmp_path / "one")
    content = (tmp_path / "one" / "arena.toml").read_text("utf-8")
    assert 'systems = [\n    "large",\n    "small",\n]\nbudget = "5"' in content
    Arena.objects.all().delete()

    apply(tmp_path / "one", yes=True)

    rebuilt = arena_of(arena.study)
    assert (rebuilt.questions.count(), rebuilt.forbidden, rebuilt.is_live) == (6, "soup", False)
    call_command("export", slug, "--what", "study", "--out", tmp_path / "two")
    for name in ("arena.toml", "arena.jsonl"):
        assert (tmp_path / "two" / name).read_bytes() == (tmp_path / "one" / name).read_bytes()


def test_a_fault_of_the_file_is_named(llm, engine, tmp_path):
    arena = make_arena(llm, state="draft")
    call_command("export", arena.study.slug, "--what", "study", "--out", tmp_path / "one")
    file = tmp_path / "one" / "arena.toml"

    for wrong, words in (('budget = "much"', "budget is “much”"), ("stock = 0", "greater than")):
        name = wrong.split()[0]
        lines = [line for line in file.read_text("utf-8").split("\n") if not line.startswith(name)]
        kept = file.read_text("utf-8")
        file.write_text("\n".join([*lines, wrong]), "utf-8")
        with pytest.raises(CommandError, match=words):
            apply(tmp_path / "one", yes=True)
        file.write_text(kept, "utf-8")


def test_an_open_arena_keeps_the_extra_on(llm, engine):
    arena = open_arena(arena=make_arena(llm))
    assert refusal(arena.study, "arena") == "The arena is open. Pause it first."

    plain = make_study(extras=["arena"])
    turn_off(plain, "arena")
