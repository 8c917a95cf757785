"""Entries of extras stand behind entries of the core, which are there without any other extra."""

from analysis.data import dataset, extras
from analysis.report import build, rules
from judging.backends import kinds as backends
from judging.protocols import registry as protocols
from studies.importers import sets


def test_every_entry_has_its_place_without_any_other_extra():
    lists = (
        (rules.MORE_CHAPTERS, build.SECTIONS),
        (extras.READERS, [dataset.DRAW]),
        (backends.MORE, backends.BACKENDS),
        (protocols.MORE, protocols.PROTOCOLS),
        (sets.MORE, sets.SETS),
    )

    assert [entry for more, own in lists for entry in more.without_place(own)] == []


def test_the_report_ends_with_its_downloads():
    assert rules.MORE_CHAPTERS.among(build.SECTIONS)[-1].name == "downloads"
