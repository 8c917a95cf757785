"""Items with people's answers and runs' verdicts, in the shapes of two labelling programs."""

from collections.abc import Iterator
from typing import Any

from analysis.data.item_texts import ItemTexts
from analysis.exports.catalogue import ExportTable
from analysis.exports.rows import JudgedItem, judged_items
from analysis.exports.table_files import ExportTableFile
from studies.models import Study


def label_studio_tasks(study: Study) -> Iterator[dict[str, Any]]:
    """Tasks with annotations and predictions; choices are named by content, r1, r2 and tie."""
    for number, judged in enumerate(judged_items(study), start=1):
        yield {
            "id": number,
            "data": _texts(judged.item),
            "annotations": [
                {
                    "result": _regions(answer["choice"], answer["certainty"]),
                    "ground_truth": False,
                    "lead_time": None if (ms := answer["active_ms"]) is None else ms / 1000,
                    "created_username": answer["rater_id"],
                }
                for answer in judged.answers
            ],
            "predictions": [
                {
                    "model_version": f"{verdict['rater_id']}:{verdict['run'][:8]}",
                    "score": verdict["share"],
                    "result": _regions(verdict["verdict"], verdict["certainty"]),
                }
                for verdict in judged.verdicts
                if verdict.get("verdict")
            ],
        }


def _regions(choice: str, certainty: float | None) -> list[dict[str, Any]]:
    regions: list[dict[str, Any]] = [
        {
            "from_name": "choice",
            "to_name": "question",
            "type": "choices",
            "value": {"choices": [choice]},
        }
    ]
    if certainty is not None:
        regions.append(
            {
                "from_name": "certainty",
                "to_name": "question",
                "type": "number",
                "value": {"number": certainty},
            }
        )
    return regions


def argilla_records(study: Study) -> Iterator[dict[str, Any]]:
    """Records with annotators' answers as responses and verdicts of runs as suggestions."""
    for judged in judged_items(study):
        texts = _texts(judged.item)
        yield {
            "id": judged.item.key,
            "fields": {name: text for name, text in texts.items() if name in _FIELDS and text},
            "metadata": {
                "topic": judged.item.topic or None,
                "first_person": judged.item.first_person or None,
            },
            "responses": _responses(judged),
            "suggestions": [
                {
                    "question_name": "choice",
                    "value": verdict["verdict"],
                    "score": verdict["share"],
                    "agent": f"{verdict['rater_id']}:{verdict['run'][:8]}",
                }
                for verdict in judged.verdicts
                if verdict.get("verdict")
            ],
        }


_FIELDS = ("persona", "context", "question", "response_1", "response_2")


def _responses(judged: JudgedItem) -> list[dict[str, Any]]:
    responses = []
    for answer in judged.answers:
        by = {"user_id": answer["rater_id"], "status": "submitted"}
        responses.append({"question_name": "choice", "value": answer["choice"], **by})
        if answer["certainty"] is not None:
            responses.append({"question_name": "certainty", "value": answer["certainty"], **by})
    return responses


def _texts(item: ItemTexts) -> dict[str, Any]:
    return {
        "item_id": item.key,
        "persona": item.profile,
        "context": item.context or None,
        "question": item.question or None,
        "prompt_1": item.responses["r1"].get("prompt"),
        "response_1": item.responses["r1"]["text"],
        "prompt_2": item.responses["r2"].get("prompt"),
        "response_2": item.responses["r2"]["text"],
        "topic": item.topic or None,
        "first_person": item.first_person or None,
    }


ARGILLA = ExportTable(
    "argilla",
    ("jsonl",),
    "Records for Argilla",
    lambda study, _: ExportTableFile("argilla", (), lambda: argilla_records(study)),
    has_texts=True,
)
LABEL_STUDIO = ExportTable(
    "label-studio",
    ("json",),
    "Tasks for Label Studio",
    lambda study, _: ExportTableFile("label-studio", (), lambda: label_studio_tasks(study)),
    has_texts=True,
)
