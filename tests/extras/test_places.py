"""Entries of extras stand behind entries of the core, which are there without any other extra."""

from analysis.report import build, rules
from studies.extra import KINDS, Kind, Placed, manifests


def test_every_entry_is_there_and_has_its_place_without_any_other_extra():
    lists = {
        (kind, entry.at if isinstance(entry, Placed) else "")
        for extra, _ in manifests()
        for kind in KINDS
        for entry in getattr(extra, kind)
    }
    chapters = {section.name: section.parts for section in build.OWN}

    missing = {
        (at, entry)
        for kind, at in lists
        for entry in Kind[object](kind, at).without_place()
        if kind != "chapters" or not at
    }
    assert missing == set()
    for chapter, parts in chapters.items():
        names = {part.name for part in parts}
        assert [
            entry.after
            for extra, _ in manifests()
            for entry in extra.chapters
            if isinstance(entry, Placed) and entry.at == chapter and entry.after
            if entry.after not in names
        ] == []


def test_the_report_begins_and_ends_with_its_own_chapters():
    names = [chapter.name for chapter in rules.CHAPTERS]
    own = ["view", "glance", "accuracy", "certainty", "agreement", "position"]
    after_extras = ["record", "limits", "methods"]

    assert [name for name in names if name in {*own, *after_extras}] == [*own, *after_extras]
    assert (names[: len(own) - 2], names[-len(after_extras) :]) == (own[:-2], after_extras)
    assert len(names) > len(own) + len(after_extras)
