"""What happens to a study later, and what must still hold then.

A person is excluded and another one deletes their data, an item turns out to be faulty, the consent
is amended, somebody asks for another view, and the study is copied and given away.
"""

from collections.abc import Callable
from pathlib import Path
from typing import Any
from unittest.mock import patch

from django.apps import apps
from django.contrib.auth.models import User

from analysis import tasks
from analysis.data.views import AS_IT_IS, View
from analysis.exports.study_export import export_study
from analysis.lifecycle.requests import request_report
from analysis.models import Report
from annotation import services
from annotation.models import Annotator
from annotation.services.faulty_items import put_back, take_out
from studies.models import Item, Study
from studies.services.studies import set_state
from studies.services.whole_studies import archive, copy_study, delete_study
from studies.statements import clock
from tests.analysis.builders import assert_verified
from tests.factories import sign_in
from tests.invariants import broken_invariants
from tests.meetings import whole_way
from tests.stored import everywhere

# What a report as of an earlier moment has in common with the one of that moment.
USUAL = ("judges", "comparison", "headline")
PEOPLE = ("majority", "individual", "agreement")


def built(study: Study, view: View = AS_IT_IS) -> Report:
    """A report of which every part could be computed."""
    with patch.object(tasks.build_report, "delay_on_commit"):
        report = request_report(study_id=study.pk, bootstrap=100, view=view)
        tasks.build_report(report.pk)
    report.refresh_from_db()
    assert report.state == Report.State.DONE, report.message
    assert not report.result.get("failed_parts"), report.result["failed_parts"]
    return report


def lives_on(
    study: Study, folder: Path, *keys: str, changes: Callable[[Study], None] = lambda study: None
) -> list[Report]:
    """Take a finished study through all of that; `keys` of its reports must follow.

    `changes` changes something of the extra after the first report.
    """
    user = User.objects.create_user("later")
    first = built(study)
    moment = clock.now()
    assert {*keys} <= {*(first.result or ())}
    people = Annotator.objects.filter(
        study=study, state=Annotator.State.COMPLETED, excluded_at=None
    )
    excluded, deleted = list(people.order_by("pk")[:2]) if people.count() > 1 else (None, None)
    if excluded is not None:
        services.exclude(annotator_id=excluded.pk, reason="Too fast.", reopen_seats=False)
    items = Item.objects.filter(study=study, answered__gt=0).order_by("key")
    faulty = items.first()
    if faulty is not None:
        take_out(study_id=study.pk, key=faulty.key, reason="Both responses say the same.")
        _amend_consent(study)
    changes(study)
    second = built(study)
    views = [View(as_of=moment.isoformat())]
    if faulty is not None:
        views.append(View(without_items=[faulty.key], with_left_out=True))
    if excluded is not None and deleted is not None:
        views.append(View(without_people=[deleted.pseudonym], with_excluded=True))
    asked = [built(study, view) for view in views]
    # Numbers from an extra's own data about answers are left out of views.
    shared = (*USUAL, *(key for key in keys if key in asked[0].result))
    apart = differences(first.result, asked[0].result, shared)
    apart += differences(first.result["human"], asked[0].result["human"], PEOPLE)
    assert not apart, apart
    blind(study, folder / "blind")
    if deleted is not None and apps.is_installed("extras.privacy"):
        from extras.privacy import personal_data

        words = [deleted.pseudonym]
        personal_data.delete(annotator_id=deleted.pk, user=user)
        left = {place.partition(":")[0] for place in everywhere(words, folder / "nothing")}
        assert left <= {"analysis.Report"}, left
    if faulty is not None:
        put_back(study_id=study.pk, key=faulty.key)
    last = built(study)
    assert_verified(last.public_id)
    assert whole_way.faults_of_pages(study, last, sign_in(study, "owner")) == []
    _copied(study)
    _next_wave(study)
    assert broken_invariants(*whole_way.CHECKS) == []
    set_state(study_id=study.pk, state=Study.State.CLOSED)
    archive(study_id=study.pk, by=None)
    delete_study(study_id=study.pk, by=None)
    return [first, second, *asked, last]


def blind(study: Study, folder: Path) -> None:
    if not apps.is_installed("extras.report_readers.links"):
        return
    export_study(study, what="blind", out=folder, licence="CC-BY-4.0")


def _copied(study: Study) -> None:
    """A copy has the items and asks the same, and can be deleted with all that belongs to it."""
    copy = copy_study(study_id=study.pk, slug="later-copy", title="A copy", with_items=True)
    keys = [
        {*Item.objects.filter(study=each).values_list("key", flat=True)} for each in (study, copy)
    ]
    assert keys[0] == keys[1]
    delete_study(study_id=copy.pk, by=None)


def _amend_consent(study: Study) -> None:
    if not apps.is_installed("extras.privacy"):
        return
    from extras.privacy.amendments import amend_consent

    amended = {"consent": "Take *part*. Data are kept for ten years."}
    amend_consent(study_id=study.pk, fields=amended, note="Asked for.", asks_again=True)


def _next_wave(study: Study) -> None:
    """The next wave has the same items and its own report, if waves are installed."""
    if not apps.is_installed("extras.own_answers"):
        return
    from extras.own_answers.waves import invite_people, next_wave

    wave = next_wave(study_id=study.pk, slug="later-wave")
    if wave.entry == Study.Entry.LIST:
        invite_people(wave_id=wave.wave.pk)
    built(wave)
    delete_study(study_id=wave.pk, by=None)


def differences(one: Any, other: Any, keys: tuple[str, ...]) -> list[str]:
    """Paths at which two reports differ, below the keys."""
    return [path for key in keys for path in _apart(one.get(key), other.get(key), key)]


def _apart(one: Any, other: Any, path: str) -> list[str]:
    if isinstance(one, dict) and isinstance(other, dict):
        names = sorted({*one, *other} - {"hash"})
        return [
            at for name in names for at in _apart(one.get(name), other.get(name), f"{path}.{name}")
        ]
    if isinstance(one, list) and isinstance(other, list) and len(one) == len(other):
        pairs = enumerate(zip(one, other, strict=True))
        return [at for n, (a, b) in pairs for at in _apart(a, b, f"{path}.{n}")]
    return [] if one == other else [f"{path}: {one!r:.60} / {other!r:.60}"]
