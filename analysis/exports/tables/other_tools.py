"""The same answers in the formats of other programs: MT-bench, Label Studio, Argilla.

All of them contain the items' texts.
"""

from collections.abc import Iterator
from itertools import chain, islice
from typing import Any

from analysis.data.items.texts import ItemTexts, item_texts
from analysis.exports.tables.judged_items import JudgedItem, counted_answers, judged_items
from analysis.exports.tables.judgments import judgment_table
from studies.models.studies import Study

_CHUNK = 500


def mt_bench_rows(study: Study) -> Iterator[dict[str, Any]]:
    """One row for each answer or judgment, in the format of MT-bench.

    `model_a` is the response on side A, or response 1 if the order is unknown. Judgments without
    an answer are left out.
    """
    judgments = (
        row for row in judgment_table(study) if row["choice"] and row["bias_probe"] is None
    )
    rows = chain(counted_answers(study), judgments)
    while chunk := list(islice(rows, _CHUNK)):
        keys = {row["item_id"] for row in chunk}
        items = {item.key: item for item in item_texts(study, keys)}
        for row in chunk:
            yield _comparison(items[row["item_id"]], row)


def _comparison(item: ItemTexts, row: dict[str, Any]) -> dict[str, Any]:
    first = row["shown_first"] or "r1"
    second = "r2" if first == "r1" else "r1"
    winner = {first: "model_a", second: "model_b", "tie": "tie"}[row["choice"]]
    return {
        "question_id": item.key,
        "model_a": _maker(item, first),
        "model_b": _maker(item, second),
        "winner": winner,
        "judge": row["rater_id"],
        "judge_kind": row["rater_kind"],
        "conversation_a": _conversation(item, first),
        "conversation_b": _conversation(item, second),
        "turn": 1,
        "persona": item.profile,
        "certainty": row["certainty"],
    }


def _maker(item: ItemTexts, side: str) -> str:
    """The model that wrote a response; the name of the response if the model is unknown."""
    maker = item.responses[side].get("generated_by") or {}
    return maker.get("name") or str(side)


def _conversation(item: ItemTexts, side: str) -> list[dict[str, str]]:
    response = item.responses[side]
    asked = "\n\n".join(filter(None, [item.context, response.get("prompt") or item.question]))
    return [
        {"role": "user", "content": asked},
        {"role": "assistant", "content": response["text"]},
    ]


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
    given = []
    for answer in judged.answers:
        by = {"user_id": answer["rater_id"], "status": "submitted"}
        given.append({"question_name": "choice", "value": answer["choice"], **by})
        if answer["certainty"] is not None:
            given.append({"question_name": "certainty", "value": answer["certainty"], **by})
    return given


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
