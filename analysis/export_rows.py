"""Rows of an export: answers of people and models in one shape, and the people behind them."""

import statistics
from collections import Counter, defaultdict
from collections.abc import Iterator
from typing import Any

from analysis.pseudonyms import exported_id, in_cells_of_k, to_the_minute
from annotation.exports import annotation_rows, annotator_rows
from annotation.models import Annotation, AnnotationRevision, DemographicQuestion
from judging.models import Judgment
from studies.exporters import may_redistribute
from studies.models import Choice, Item, Persona, Study
from studies.prompts import band_of

_ANSWER_COLUMNS = (
    "answer_id", "study", "item_id", "rater_kind", "rater_id", "slot", "shown_first", "choice",
    "choice_side", "certainty", "certainty_band", "certainty_input", "setting",
    "persona_features_shown", "attempts", "parse_status", "raw_text", "started_at",
    "answered_at", "active_ms", "changed_choice", "viewport_w", "input_kind", "checks_passed",
    "excluded", "exclude_reason",
)  # fmt: skip
ANNOTATION_COLUMNS = (*_ANSWER_COLUMNS, "standing", "elapsed_ms", "revision", "wording_sha256")
JUDGMENT_COLUMNS = (
    *_ANSWER_COLUMNS, "judge", "run", "features", "sample", "model_snapshot", "prompt_sha256",
    "probability_r1", "probability_r2", "probability_tie",
)  # fmt: skip
ANNOTATOR_COLUMNS = (
    "rater_id", "study", "imported", "state", "answers", "median_active_ms", "demographics",
    "works_surplus", "failed_attention", "checks_passed", "checks_seen", "flags", "started_at",
    "ended_at", "excluded",
)  # fmt: skip
IDENTIFIED_COLUMNS = (
    "pseudonym", "prolific_pid", "prolific_study_id", "session_ids", "all_demographics",
    "quota_cell", "exclude_reason",
)  # fmt: skip


def annotation_table(study: Study) -> Iterator[dict[str, Any]]:
    """People's answers to the items that count, under their exported names.

    Free text about people, such as the reason of an exclusion, stays inside, and so does every
    answer that somebody has withdrawn.
    """
    main = set(Item.objects.filter(study=study).values_list("key", flat=True))
    shown = _feature_keys(study)
    changed = _changed_choices(study)
    failed = {row["rater_id"]: row["failed_attention"] for row in annotator_rows(study)}
    slots: Counter[str] = Counter()
    for row in annotation_rows(study):
        key, person = row["item_id"], row["rater_id"]
        if key not in main or row["standing"] == Annotation.Standing.WITHDRAWN:
            continue
        slots[key] += 1
        rater = exported_id(study.export_key, person)
        known = {
            "answer_id": f"{rater}:{key}",
            "rater_id": rater,
            "slot": slots[key],
            "certainty_input": None,
            "persona_features_shown": shown[key],
            "parse_status": "ok",
            "started_at": to_the_minute(row["started_at"]),
            "answered_at": to_the_minute(row["answered_at"]),
            "changed_choice": (person, key) in changed,
            "checks_passed": not failed[person],
            "exclude_reason": None,
        }
        yield {column: (row | known).get(column) for column in ANNOTATION_COLUMNS}


def judgment_table(study: Study) -> Iterator[dict[str, Any]]:
    """What models said about the items that count, one row a question; open ones are left out.

    `slot` numbers the questions about an item within a run. Replies may quote the items, so
    they stay inside where the items do.
    """
    shown = _feature_keys(study)
    tells = may_redistribute(study)
    slots: Counter[tuple[int, str]] = Counter()
    found = (
        Judgment.objects.filter(run__study=study, item__split=Item.Split.MAIN)
        .exclude(state__in=Judgment.OPEN)
        .select_related("run__judge", "item")
        .order_by("run__judge__name", "run__key", "item__key", "sample", "shown_first")
    )
    for judgment in found.iterator(chunk_size=2_000):
        run, key, certainty = judgment.run, judgment.item.key, judgment.certainty
        slots[run.pk, key] += 1
        shown_here = shown[key] if run.feature_keys is None else run.feature_keys
        row = {
            "answer_id": f"{run.key[:16]}:{key}:{judgment.shown_first}:{judgment.sample}",
            "study": study.slug,
            "item_id": key,
            "rater_kind": "model",
            "rater_id": run.judge.name,
            "slot": slots[run.pk, key],
            "shown_first": judgment.shown_first,
            "choice": judgment.choice or None,
            "choice_side": _side(judgment.choice, judgment.shown_first),
            "certainty": certainty,
            "certainty_band": None if certainty is None else band_of(certainty).slug,
            "certainty_input": None if certainty is None else "model",
            "setting": run.setting,
            "persona_features_shown": shown_here,
            "attempts": judgment.replies,
            "parse_status": _parse_status(judgment),
            "raw_text": judgment.raw_text or None if tells else None,
            "answered_at": to_the_minute(judgment.answered_at),
            "excluded": False,
            "judge": run.judge.name,
            "run": run.key,
            "features": run.features,
            "sample": judgment.sample,
            "model_snapshot": judgment.model_snapshot or None,
            "prompt_sha256": judgment.prompt_sha256 or None,
            **_probabilities(judgment),
        }
        yield {column: row.get(column) for column in JUDGMENT_COLUMNS}


def annotator_table(study: Study, *, identified: bool = False) -> Iterator[dict[str, Any]]:
    """The people of a study by exported name; demographics only in cells of at least five."""
    rows = list(annotator_rows(study, identified=identified))
    keys = list(DemographicQuestion.objects.filter(study=study).values_list("key", flat=True))
    told = in_cells_of_k({row["rater_id"]: row["demographics"] for row in rows}, keys)
    paces = _paces(study)
    checks = _checks(study)
    named = []
    for row in rows:
        person = row["rater_id"]
        passed, seen = checks.get(person, (0, 0))
        pace = paces.get(person)
        known = {
            "rater_id": exported_id(study.export_key, person),
            "pseudonym": person,
            "median_active_ms": None if pace is None else round(statistics.median(pace)),
            "demographics": told[person],
            "all_demographics": row["demographics"],
            "checks_passed": passed,
            "checks_seen": seen,
            "started_at": to_the_minute(row["started_at"]),
            "ended_at": to_the_minute(row["ended_at"]),
        }
        columns = ANNOTATOR_COLUMNS + (IDENTIFIED_COLUMNS if identified else ())
        named.append({column: (row | known).get(column) for column in columns})
    # By exported name: the order of arrival would tell who is who.
    yield from sorted(named, key=lambda row: str(row["rater_id"]))


def _feature_keys(study: Study) -> dict[str, list[str]]:
    """The keys of the persona's features, by item key."""
    personas = {
        pk: [feature["key"] for feature in features]
        for pk, features in Persona.objects.filter(study=study).values_list("pk", "features")
    }
    items = Item.objects.filter(study=study).values_list("key", "persona_id")
    return {key: personas[persona] for key, persona in items}


def _changed_choices(study: Study) -> set[tuple[str, str]]:
    """(person, item) of the answers whose choice was another one before."""
    choices: dict[tuple[str, str], set[str]] = defaultdict(set)
    found = AnnotationRevision.objects.filter(
        annotation__assignment__annotator__study=study, annotation__revision__gt=1
    ).values_list(
        "annotation__assignment__annotator__pseudonym",
        "annotation__assignment__item__key",
        "choice",
    )
    for person, key, choice in found:
        choices[person, key].add(choice)
    return {place for place, made in choices.items() if len(made) > 1}


def _paces(study: Study) -> dict[str, list[int]]:
    """Active times by person, over the items that count: a check is read at another pace."""
    found = Annotation.objects.filter(
        assignment__annotator__study=study, assignment__item__split=Item.Split.MAIN
    ).values_list("assignment__annotator__pseudonym", "active_ms")
    paces: dict[str, list[int]] = defaultdict(list)
    for person, pace in found:
        if pace is not None:
            paces[person].append(pace)
    return paces


def _checks(study: Study) -> dict[str, tuple[int, int]]:
    """How many attention checks each person passed, and how many were shown."""
    found = Annotation.objects.filter(
        assignment__annotator__study=study, assignment__item__split=Item.Split.ATTENTION_CHECK
    ).values_list("assignment__annotator__pseudonym", "choice", "assignment__item__check_answer")
    checks: dict[str, tuple[int, int]] = {}
    for person, choice, correct in found:
        passed, seen = checks.get(person, (0, 0))
        checks[person] = (passed + (choice == correct), seen + 1)
    return checks


def _side(choice: str, shown_first: str) -> str | None:
    if not choice:
        return None
    if choice == Choice.TIE:
        return "C"
    return "A" if choice == shown_first else "B"


def _probabilities(judgment: Judgment) -> dict[str, float | None]:
    told = judgment.probabilities or {}
    return {f"probability_{option}": told.get(option) for option in Choice.values}


def _parse_status(judgment: Judgment) -> str:
    if judgment.state != Judgment.State.DONE:
        return judgment.state
    return "regenerated" if judgment.replies > 1 else "ok"
