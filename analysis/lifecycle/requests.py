"""Requests to build or delete a report, and the names that its views use."""

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from django.contrib.auth.models import User
from django.db import transaction
from django.db.models import Max

from analysis.data.answer_rows import names_in, topics_in
from analysis.data.item_comparisons import runs_to_compare
from analysis.data.views import AS_IT_IS, PEOPLE, View
from analysis.errors import BadParameters
from analysis.lifecycle.storage import check_parameters, registered, report_dir
from analysis.models import Report
from analysis.report.words import run_name
from analysis.tasks import build_report
from studies.extra import Kind
from studies.jobs.retry import same_job
from studies.models.studies import Study
from studies.services.studies import lock_study, record


@transaction.atomic
def request_report(
    *,
    study_id: int,
    user: User | None = None,
    threshold: int | None = None,
    seed: int | None = None,
    bootstrap: int | None = None,
    view: View = AS_IT_IS,
) -> Report:
    """Queue a report, or return the same one if it is already being built.

    Missing values come from the study's plan, or else the defaults; `view` makes it another view.
    Raises `BadParameters`.
    """
    # The lock makes two presses of the button create one report.
    study = lock_study(study_id)
    default = registered(study)
    parameters = {
        "threshold": view.threshold or (default.threshold if threshold is None else threshold),
        "seed": default.seed if seed is None else seed,
        "bootstrap": default.bootstrap if bootstrap is None else bootstrap,
    }
    check_parameters(**parameters)
    same = study.reports.filter(state__in=Report.OPEN, view=view.content, **parameters)
    if report := same_job(same, build_report):
        return report
    last = study.reports.aggregate(last=Max("number"))["last"] or 0
    report = Report.objects.create(
        study=study,
        number=last + 1,
        requested_by=user,
        view=view.content,
        **parameters,
    )
    more = {} if view.is_empty else {"view": view.changes(run_names_in(study))}
    record(study, "report requested", user=user, report=report.public_id, **parameters, **more)
    build_report.delay_on_commit(report.pk)  # type: ignore[attr-defined]
    return report


@dataclass(frozen=True)
class GivenOut:
    """What an extra gives out of reports: a button for owners, and its end with the report.

    `address` is the name of its page, which gets the study's short name and the report's id.
    """

    name: str
    label: str
    address: str
    end: Callable[[Report, User], object]


GIVEN_OUT: Kind[GivenOut] = Kind("reports", "links")


@transaction.atomic
def delete_report(*, report_id: int, user: User) -> None:
    """Delete the files and numbers of a report, and end what was given out of it.

    The row says when and by whom.
    """
    report = Report.objects.select_related("study").get(pk=report_id)
    lock_study(report.study_id)
    for given_out in GIVEN_OUT:
        given_out.end(report, user)
    view = report.view | {PEOPLE: []} if PEOPLE in report.view else report.view
    changed = Report.objects.filter(pk=report_id, state=Report.State.DONE).update(
        state=Report.State.GONE,
        result=None,
        view=view,
        message=f"Deleted by {user.get_username()}. Build the report again for new numbers.",
    )
    if changed:
        record(report.study, "report deleted", user=user, report=report.public_id)
        transaction.on_commit(report_dir(report.public_id).delete)


def run_names_in(study: Study) -> dict[str, str]:
    """The names that reports give to the runs of a study, by their hash."""
    entries = []
    for run in runs_to_compare(study):
        entry = {name: getattr(run, name) for name in ("setting", "features", "framing")}
        entry |= {"judge": run.judge.name, "run": run.key}
        entries.append(entry | ({"wording": run.wording.reference} if run.wording else {}))
    return {entry["run"]: run_name(entry, entries) for entry in entries}


def read_view(study: Study, content: Any) -> View:
    """A view from JSON in which runs have their names, their hash, or only that of their judge.

    Raises `BadParameters` if the study lacks what it names.
    """
    view = View.of(content)
    if view.without_runs:
        view = replace(view, without_runs=run_keys(study, view.without_runs))
    if view.without_items or view.topics:
        items = topics_in(study)
        _refuse_unknown("item", view.without_items, items.keys())
        _refuse_unknown("topic", view.topics, items.values())
    if view.without_people:
        _refuse_unknown("annotator", view.without_people, names_in(study))
    return view


def written_view(study: Study, view: View) -> dict[str, Any]:
    """The view as JSON with the names of runs, as `read_view` reads it."""
    content = view.content
    if "without_runs" in content:
        names = run_names_in(study)
        content["without_runs"] = [names.get(key, key) for key in content["without_runs"]]
    return content


def run_keys(study: Study, named: Iterable[str]) -> list[str]:
    """The hashes of named runs; a judge's name stands for all of its runs.

    Raises `BadParameters` if the study has no such run.
    """
    runs, names = runs_to_compare(study), run_names_in(study)
    chosen: dict[str, None] = {}
    for name in named:
        keys = [run.key for run in runs if name in (names[run.key], run.key, run.public_id)]
        keys = keys or [run.key for run in runs if run.judge.name == name]
        if not keys:
            raise BadParameters(
                f"The study has no run “{name}”. Use one of: "
                f"{', '.join(sorted(names.values())) or 'none yet'}."
            )
        chosen |= dict.fromkeys(keys)
    return [*chosen]


_WHERE: Mapping[str, str] = {
    "item": "Copy the id from the list of items.",
    "topic": "Copy it from an item.",
    "annotator": "Copy the pseudonym from the list of annotators; a name is gone once the "
    "person’s data was deleted.",
}


def _refuse_unknown(what: str, named: Iterable[str], known: Collection[str]) -> None:
    there = set(known)
    if unknown := next((name for name in named if name not in there), None):
        raise BadParameters(f"The study has no {what} “{unknown}”. {_WHERE[what]}")
