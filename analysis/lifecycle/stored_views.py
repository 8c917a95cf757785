"""Views as people write and read them: runs by name, and nothing that the study lacks."""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import replace
from typing import Any

from analysis.data.answers import names_in, topics_in
from analysis.data.item_comparisons import runs_to_compare
from analysis.data.views import View
from analysis.errors import BadParameters
from analysis.report.words import run_name
from studies.models.studies import Study


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
        view = replace(view, without_runs=_keys(study, view.without_runs))
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


def _keys(study: Study, named: Iterable[str]) -> list[str]:
    """The hashes of named runs; a judge's name stands for all of its runs."""
    runs, names = runs_to_compare(study), run_names_in(study)
    found: dict[str, None] = {}
    for name in named:
        keys = [run.key for run in runs if name in (names[run.key], run.key, run.public_id)]
        keys = keys or [run.key for run in runs if run.judge.name == name]
        if not keys:
            raise BadParameters(
                f"The study has no run “{name}”. Use one of: "
                f"{', '.join(sorted(names.values())) or 'none yet'}."
            )
        found |= dict.fromkeys(keys)
    return [*found]


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
