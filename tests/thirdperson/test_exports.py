"""Exports of other programs, in the shapes that these programs document, read as labels."""

import csv
import json
import re
import zipfile
from typing import Any

import pytest

from thirdperson.check.command import options_of
from thirdperson.check.labels import BadTable
from thirdperson.check.reading import read_labels

N = 40


def word(n, every):
    return "pass" if n % every else "fail"


def promptfoo(n):
    """One result, with a rating from the viewer."""

    def component(kind, outcome, **more):
        passed = outcome == "pass"
        return {"pass": passed, "score": float(passed), "assertion": {"type": kind, **more}}

    return {
        "testIdx": n,
        "promptIdx": 0,
        "vars": {"input": f"Question {n}", "human_2": word(n, 5)},
        "gradingResult": {
            "pass": True,
            "componentResults": [
                component("contains", "pass"),
                component("llm-rubric", word(n, 4), metric="helpful"),
                component("human", word(n, 3)),
            ],
        },
    }


PROMPTFOO = {"evalId": "e", "results": {"version": 3, "results": [promptfoo(n) for n in range(N)]}}
INSPECT = {
    "version": 2,
    "status": "success",
    "eval": {"task": "t"},
    "samples": [
        {
            "id": f"s{n}",
            "epoch": 1,
            "input": f"Question {n}",
            "target": "x",
            "metadata": {"human_1": word(n, 3), "human_2": word(n, 5), "topic": "food"},
            "scores": {"grader": {"value": word(n, 4), "explanation": "because"}},
        }
        for n in range(N)
    ],
}


def assessment(name, value, kind, source, **more):
    return {
        "assessment_id": "a-1",
        "assessment_name": name,
        "source": {"source_type": kind, "source_id": source},
        "feedback": {"value": value},
        **more,
    }


MLFLOW: list[dict[str, Any]] = [
    {
        "info": {
            "trace_id": f"tr-{n}",
            "request_preview": f"Question {n}",
            "tags": {"persona": f"p{n % 4}"},
            "assessments": [
                assessment("correct", bool(n % 3), "HUMAN", "ann@example.org"),
                assessment("correct", bool(n % 5), "HUMAN", "ben@example.org"),
                assessment("correct", bool(n % 4), "LLM_JUDGE", "gpt-4o"),
                assessment("correct", bool(n % 2), "LLM_JUDGE", "gpt-4o", valid=False),
                assessment("length", 20, "CODE", "counter"),
                {"assessment_name": "correct", "expectation": {"value": bool(n % 3)}},
            ],
        },
        "data": {"spans": []},
    }
    for n in range(N)
]


def choice(value, name="verdict"):
    return {"from_name": name, "to_name": "t", "type": "choices", "value": {"choices": [value]}}


RATERS = {"ann": 3, "ben": 5, "gpt-4o": 4}


def three(n, entry):
    """An entry of each rater for the item; `entry` gets the rater, its label, and if it is one."""
    return [entry(name, word(n, every), name == "gpt-4o") for name, every in RATERS.items()]


def langfuse(n):
    def score(name, label, is_judge):
        return {
            "id": f"{n}-{name}",
            "traceId": f"tr-{n}",
            "observationId": None,
            "name": "correct",
            "value": float(label == "pass"),
            "stringValue": label,
            "dataType": "CATEGORICAL",
            "source": "EVAL" if is_judge else "ANNOTATION",
            "authorUserId": None if is_judge else name,
            "metadata": {"model": name} if is_judge else None,
        }

    return three(n, score)


def phoenix(n):
    def annotation(name, label, is_judge):
        return {
            "id": f"{n}-{name}",
            "span_id": f"sp{n}",
            "name": "correct",
            "annotator_kind": "LLM" if is_judge else "HUMAN",
            "result": {"label": label, "score": None, "explanation": None},
            "metadata": {"model": name} if is_judge else {},
            "identifier": "" if is_judge else name,
        }

    return three(n, annotation)


def langsmith(n):
    def feedback(name, label, is_judge):
        source = {"type": "model"} if is_judge else {"type": "app", "user_id": name}
        return {
            "id": f"{n}-{name}",
            "run_id": f"run-{n}",
            "key": "judge_correct" if is_judge else "correct",
            "score": None,
            "value": label,
            "feedback_source": source,
        }

    return three(n, feedback)


def opik(n):
    people = {
        name: {"value": float(label == "pass"), "category_name": label, "source": "ui"}
        for name, label, is_judge in three(n, lambda *parts: parts)
        if not is_judge
    }
    shared = {"name": "correct", "reason": ""}
    scores = [
        shared | {"value": 0.5, "source": "ui", "created_by": "ann", "value_by_author": people},
        shared
        | {"value": 0.0, "category_name": word(n, 4), "source": "online_scoring"}
        | {"created_by": "gpt-4o"},
    ]
    return {"id": f"tr-{n}", "name": "ask", "input": {"q": "Which?"}, "feedback_scores": scores}


def weave(n):
    """Feedback as in Weave's trace server (wandb/weave, trace_server/interface/feedback_types)."""

    def feedback(name, label, is_judge):
        kind = "wandb.runnable.Correctness" if is_judge else "wandb.annotation.correct"
        return {
            "id": f"{n}-{name}",
            "weave_ref": f"weave:///team/project/call/c{n}",
            "wb_user_id": "VXNlcjox" if is_judge else name,
            "creator": None,
            "created_at": f"2026-01-01T00:00:{n:02}.000Z",
            "feedback_type": kind,
            "payload": {"output": {"passed": label == "pass"}} if is_judge else {"value": label},
            "annotation_ref": None if is_judge else "weave:///team/project/object/correct:d",
        }

    return three(n, feedback)


def weave_call(n, **more):
    """A call in the export of Weave's page of traces, with its feedback."""
    return {
        "id": f"c{n}",
        "trace_id": f"t{n}",
        "op_name": "weave:///team/project/op/ask:d",
        "inputs": {"question": f"Question {n}"},
        "output": "x",
        "summary": {"weave": {"status": "success", "feedback": weave(n)}},
        **more,
    }


def weave_evaluation(n):
    """The two calls of a row of an evaluation; people label the call of the model."""
    outer = {
        "id": f"e{n}",
        "op_name": "weave:///team/project/op/Evaluation.predict_and_score:d",
        "inputs": {"model": "weave:///m", "example": {"question": f"Question {n}"}},
        "output": {"output": "x", "scores": {"Correctness": {"passed": word(n, 4) == "pass"}}},
        "summary": {"weave": {"feedback": []}},
    }
    inner = weave_call(n, parent_id=f"e{n}")
    inner["summary"]["weave"]["feedback"] = weave(n)[:2]
    return [outer, inner]


WEAVE_METRIC = ["--metric", "correct=Correctness.passed"]


DEEPEVAL = {
    "testFile": "test_it.py",
    "testCases": [
        {
            "name": f"test_case_{n}",
            "input": f"Question {n}",
            "actualOutput": "x",
            "success": True,
            "metricsData": [
                {
                    "name": "Correctness [GEval]",
                    "threshold": 0.5,
                    "success": word(n, 4) == "pass",
                    "score": 0.4,
                    "evaluationModel": "gpt-4o",
                }
            ],
            "metadata": {"human_1": word(n, 3), "human_2": word(n, 5)},
        }
        for n in range(N)
    ],
    "conversationalTestCases": [],
}
LM_EVAL = [
    {
        "doc_id": n,
        "doc": {"question": "Which?", "human_1": word(n, 3), "human_2": word(n, 5)},
        "target": word(n, 7),
        "arguments": {"gen_args_0": {"arg_0": "Which?"}},
        "resps": [[word(n, 4)]],
        "filtered_resps": [word(n, 4)],
        "filter": "none",
        "exact_match": 1.0,
    }
    for n in range(N)
]
BRAINTRUST = [
    {
        "id": f"row {n}",
        "span_id": f"a{n}",
        "root_span_id": f"a{n}",
        "input": "Which?",
        "expected": "x",
        "scores": {"human review": 1 - (n % 3 == 0), "human check": 1 - (n % 5 == 0)}
        | {"Factuality": 1 - (n % 4 == 0)},
        "metadata": {"model": "m"},
    }
    for n in range(N)
] + [{"id": "inner", "span_id": "b", "root_span_id": "a0", "input": "x", "scores": None}]


def entries(of):
    return [entry for n in range(N) for entry in of(n)]


FEEDBACK = {
    "deepeval": ("deepeval", DEEPEVAL, []),
    "lm-eval": ("lm-eval", LM_EVAL, []),
    "langfuse": (
        "langfuse",
        {"data": entries(langfuse), "meta": {}},
        [],
    ),
    "phoenix": (
        "phoenix",
        {"data": entries(phoenix), "next_cursor": None},
        [],
    ),
    "langsmith": (
        "langsmith",
        entries(langsmith),
        ["--metric", "correct=judge_correct"],
    ),
    "opik": ("opik", {"content": [opik(n) for n in range(N)]}, []),
    "braintrust": ("braintrust", {"events": BRAINTRUST}, []),
    "weave": ("weave", {"result": entries(weave)}, WEAVE_METRIC),
    "weave, calls": ("weave", [weave_call(n) for n in range(N)], WEAVE_METRIC),
    "weave, evaluation": ("weave", entries(weave_evaluation), WEAVE_METRIC),
}


LABEL_STUDIO = [
    {
        "id": n,
        "data": {"text": f"Text {n}", "question": "Which?"},
        "annotations": [
            {"completed_by": 1, "was_cancelled": False, "result": [choice(word(n, 3))]},
            {"completed_by": {"id": 2, "email": "ben@example.org"}, "result": [choice(word(n, 5))]},
            {"completed_by": 3, "was_cancelled": True, "result": [choice("fail")]},
            {"completed_by": 4, "ground_truth": True, "result": [choice(word(n, 3))]},
        ],
        "predictions": [{"model_version": "gpt-4o", "score": 0.9, "result": [choice(word(n, 4))]}],
    }
    for n in range(N)
]
ARGILLA = [
    {
        "id": f"r{n}",
        "fields": {"text": f"Text {n}"},
        "metadata": {"persona": f"p{n % 4}"},
        "responses": {
            "verdict": [
                {"value": word(n, 3), "user_id": "u-1"},
                {"value": word(n, 5), "user_id": "u-2"},
            ],
            "certainty": [{"value": 80, "user_id": "u-1"}],
        },
        "suggestions": {"verdict": {"value": word(n, 4), "score": 0.75, "agent": "gpt-4o"}},
    }
    for n in range(N)
]
ARGILLA_OF_THE_SERVER = [
    {
        "id": f"r{n}",
        "fields": {"text": f"Text {n}"},
        "responses": [
            {"user_id": "u-1", "status": "submitted", "values": {"verdict": {"value": word(n, 3)}}},
            {"user_id": "u-2", "status": "submitted", "values": {"verdict": {"value": word(n, 5)}}},
            {"user_id": "u-3", "status": "draft", "values": {"verdict": {"value": "fail"}}},
        ],
        "suggestions": [{"question_name": "verdict", "value": word(n, 4), "agent": "gpt-4o"}],
    }
    for n in range(N)
]
ARGILLA_OF_THE_HUB = [
    {
        "id": f"r{n}",
        "text": f"Text {n}",
        "verdict.responses": [word(n, 3), word(n, 5)],
        "verdict.responses.users": ["u-1", "u-2"],
        "verdict.responses.status": ["submitted", "submitted"],
        "verdict.suggestion": word(n, 4),
        "verdict.suggestion.score": None,
        "verdict.suggestion.agent": "gpt-4o",
    }
    for n in range(N)
]
FORMS = {
    "promptfoo": ("promptfoo", PROMPTFOO, ["--people", "human,human_2"]),
    "inspect": ("inspect", INSPECT, []),
    "mlflow": ("mlflow", MLFLOW, ["--metric", "correct"]),
    "mlflow search": ("mlflow", {"traces": MLFLOW}, []),
    "label-studio": ("label-studio", LABEL_STUDIO, []),
    "argilla": ("argilla", ARGILLA, []),
    "argilla, server": ("argilla", ARGILLA_OF_THE_SERVER, []),
    "argilla, hub": ("argilla", ARGILLA_OF_THE_HUB, []),
} | FEEDBACK


def read(path, *options):
    return read_labels(options_of([str(path), *options]))


def number_of_item(label):
    """3 of s3, tr-3, and “test 3, prompt 0”."""
    return int(re.search(r"\d+", label.item)[0])


def by_rater(labels):
    """The labels of each rater in the order of the items, as pass and fail."""
    words = {"true": "pass", "false": "fail", "1": "pass", "0": "fail"}
    found: dict[str, list[str]] = {}
    for label in sorted(labels.labels, key=number_of_item):
        found.setdefault(label.rater, []).append(words.get(label.value, label.value))
    return found


@pytest.mark.parametrize("form", FORMS)
def test_people_and_judges_are_read_from_an_export(form, tmp_path):
    name, document, options = FORMS[form]
    path = tmp_path / "export.json"
    path.write_text(json.dumps(document))

    labels = read(path, *options)

    assert labels.reading[0] == f"format: {name}"
    people, judges = labels.raters(is_judge=False), labels.raters(is_judge=True)
    found = by_rater(labels)
    assert (len(people), len(judges)) == (2, 1)
    expected = [[word(n, every) for n in range(N)] for every in (3, 5)]
    assert sorted(found[rater] for rater in people) == sorted(expected)
    assert found[judges[0]] == [word(n, 4) for n in range(N)]


@pytest.mark.parametrize(
    "form", ["promptfoo", "mlflow", "argilla", "argilla, hub", "lm-eval", "weave, calls"]
)
def test_one_object_a_line_is_read_as_a_list(form, tmp_path):
    name, document, options = FORMS[form]
    rows = document["results"]["results"] if form == "promptfoo" else document
    path = tmp_path / "export.jsonl"
    path.write_text("\n".join(map(json.dumps, rows)) + "\n")

    labels = read(path, *options)

    assert labels.reading[0] == f"format: {name}"
    assert len(labels.labels) == 3 * N


def phoenix_runs(n):
    return {
        "example_id": f"ex-{n}",
        "repetition_number": 1,
        "output": "x",
        "annotation_correct_label": word(n, 3),
        "annotation_correct_annotator_kind": "HUMAN",
        "annotation_judged_label": word(n, 4),
        "annotation_judged_annotator_kind": "LLM",
    }


def langfuse_page(entry):
    """A score as the page exports it, with the name of its author."""
    rest = {key: value for key, value in entry.items() if key != "authorUserId"}
    return rest | {"authorUserName": entry["authorUserId"]}


def langfuse_stored(entry):
    """A score in cloud storage."""
    names = {
        "traceId": "trace_id",
        "observationId": "observation_id",
        "stringValue": "string_value",
        "dataType": "data_type",
        "authorUserId": "author_user_id",
    }
    return {names.get(key, key): value for key, value in entry.items()}


def phoenix_frame(entry):
    """An annotation in the data frame of the client."""
    rest = {key: value for key, value in entry.items() if key not in ("name", "result")}
    label = entry["result"]["label"]
    return rest | {"annotation_name": entry["name"], "result.label": label, "result.score": None}


def langsmith_frame(entry):
    """Feedback in a data frame: Python writes the object in a cell."""
    return entry | {"feedback_source": str(entry["feedback_source"])}


def opik_table(n):
    return {
        "dataset.input": f"Question {n}",
        "output": "x",
        "feedback_scores.human 1": word(n, 3),
        "feedback_scores.human 2": word(n, 5) if n else "-",
        "feedback_scores.Correctness": word(n, 4),
        "feedback_scores.Correctness_reason": "because",
    }


def langsmith_experiment(n):
    """A row of the results of evaluate(), as a data frame."""
    return {
        "inputs.question": f"Question {n}",
        "outputs.answer": "x",
        "error": "",
        "reference.answer": "y",
        "feedback.human_1": int(n % 3 > 0),
        "feedback.human_2": int(n % 5 > 0),
        "feedback.correctness": int(n % 4 > 0),
        "execution_time": 0.5,
        "example_id": f"e{n}",
        "id": f"run-{n}",
    }


def braintrust_columns(row):
    """A row of Braintrust with a column for each score and each part of the metadata."""
    found: dict[str, object] = {}
    for name, value in row.items():
        parts = value.items() if name in ("scores", "metadata") else ()
        found |= {f"{name}.{part}": own for part, own in parts} or {name: value}
    return found


def weave_table(n, *, has_list):
    """A call in Weave's CSV: feedback as a list, or the last of each type with its parts."""
    parts = {
        "summary.weave.feedback.wandb.annotation.correct.payload.value": word(n, 3),
        "summary.weave.feedback.wandb.annotation.correct.creator": "ann",
        "summary.weave.feedback.wandb.runnable.Correctness.payload.output.passed": str(
            n % 4 > 0
        ).lower(),
    }
    return {
        "id": f"c{n}",
        "op_name": "weave:///team/project/op/ask:d",
        "inputs.question": f"Question {n}",
        "output": "x",
    } | ({"summary.weave.feedback": weave(n)} if has_list else parts)


TABLES = {
    "langfuse": ([langfuse_page(entry) for entry in entries(langfuse)], []),
    "langfuse, stored": ([langfuse_stored(entry) for entry in entries(langfuse)], []),
    "phoenix": ([phoenix_frame(entry) for entry in entries(phoenix)], []),
    "phoenix, runs": ([phoenix_runs(n) for n in range(N)], ["--metric", "correct=judged"]),
    "langsmith": (
        [langsmith_frame(entry) for entry in entries(langsmith)],
        ["--metric", "correct=judge_correct"],
    ),
    "opik": ([opik_table(n) for n in range(N)], []),
    "langsmith, experiment": ([langsmith_experiment(n) for n in range(N)], []),
    "braintrust": (BRAINTRUST[:-1], []),
    "braintrust, columns": ([braintrust_columns(row) for row in BRAINTRUST[:-1]], []),
    "mlflow": (MLFLOW, ["--metric", "correct"]),
    "argilla": (ARGILLA_OF_THE_HUB, []),
    "weave": (entries(weave), WEAVE_METRIC),
    "weave, calls": ([weave_table(n, has_list=True) for n in range(N)], WEAVE_METRIC),
    "weave, parts": ([weave_table(n, has_list=False) for n in range(N)], WEAVE_METRIC),
}
ONE_PERSON = {"phoenix, runs", "weave, parts"}


def table_file(rows, folder):
    """A CSV file in which lists and objects are JSON."""
    path = folder / "export.csv"
    with path.open("w", newline="") as file:
        writer = csv.DictWriter(file, [*rows[0]])
        writer.writeheader()
        for row in rows:
            cells = {
                name: json.dumps(value) if isinstance(value, (dict, list)) else value
                for name, value in row.items()
            }
            writer.writerow(cells)
    return path


@pytest.mark.parametrize("form", TABLES)
def test_the_same_exports_are_read_from_csv(form, tmp_path):
    rows, options = TABLES[form]

    labels = read(table_file(rows, tmp_path), *options)

    assert labels.reading[0] == f"format: {form.partition(',')[0]}"
    people, judges = labels.raters(is_judge=False), labels.raters(is_judge=True)
    assert (len(people), len(judges)) == (1 if form in ONE_PERSON else 2, 1)
    assert by_rater(labels)[judges[0]] == [word(n, 4) for n in range(N)]
    assert len(labels.labels) == N * (len(people) + 1) - (form == "opik")


def test_a_score_of_people_without_their_name_is_named_by_an_option(tmp_path):
    rows = [{"id": f"r{n}", "input": "x", "scores": {"tone": n % 2, "Tone": 1}} for n in range(4)]

    with pytest.raises(BadTable, match="no column with labels by people was found"):
        _from_json(rows, tmp_path)
    labels = read(tmp_path / "export.json", "--people", "score tone")

    assert labels.raters(is_judge=False) == ["score tone"]
    assert labels.raters(is_judge=True) == ["score Tone"]


def test_reviewers_of_braintrust_have_a_span_each(tmp_path):
    def review(n, name, every):
        return {
            "id": f"{n}-{name}",
            "span_id": f"{n}-{name}",
            "span_parents": [f"row-{n}"],
            "span_attributes": {"type": "review", "name": name},
            "scores": {"helpful": int(word(n, every) == "pass")},
        }

    rows = [
        {"id": f"{n}", "span_id": f"row-{n}", "input": f"Question {n}", "metadata": None}
        | {"scores": {"helpful": 0.5, "Helpfulness": int(word(n, 4) == "pass"), "Speed": 1}}
        for n in range(N)
    ]
    reviews = [review(n, *rater) for n in range(N) for rater in (("ann", 3), ("ben", 5))]

    with pytest.raises(BadTable, match=r"People: helpful\. Judges: Helpfulness, Speed\."):
        _from_json(rows + reviews, tmp_path)
    labels = read(tmp_path / "export.json", "--metric", "helpful=Helpfulness")

    assert by_rater(labels) == {
        name: [word(n, every) for n in range(N)]
        for name, every in (("ann", 3), ("ben", 5), ("Helpfulness", 4))
    }
    assert labels.question["row-3"] == "Question 3"


def test_the_latest_feedback_of_weave_counts_and_notes_do_not(tmp_path):
    def entry(kind, when, **payload):
        ref = "weave:///team/project/call/c1"
        about = {"creator": "ann", "wb_user_id": "u", "created_at": f"2026-01-0{when}T00:00:00Z"}
        return {"weave_ref": ref, "feedback_type": kind, "payload": payload} | about

    feedback = [
        entry("wandb.note.1", 1, note="Not what I asked."),
        entry(
            "wandb.reaction.1", 2, emoji="👍🏽", alias=":thumbs_up_medium_skin_tone:", detoned="👍"
        ),
        entry("wandb.reaction.1", 1, emoji="👎", alias=":thumbs_down:", detoned="👎"),
        entry("own rating", 1, value=4),
        entry("wandb.runnable.Liked", 1, output="👍"),
    ]

    with pytest.raises(BadTable, match=re.escape("People: own rating, reaction. Judges: Liked.")):
        _from_json(feedback, tmp_path)
    labels = read(tmp_path / "export.json", "--metric", "reaction=Liked")

    assert [(each.rater, each.value) for each in labels.labels] == [("ann", "👍"), ("Liked", "👍")]


PARTICIPANTS = {"5f0000000000000000000001": 3, "5f0000000000000000000002": 5}
QUESTION = "Which response is better?"


def prolific_report(n):
    """Two rows of Prolific's report, as in prolific-oss/prolific-ai-task-builder-getting-started.

    (notebooks/output_examples/raw_preferences.csv; with the instruction of a free text.)
    """
    row = {
        "DataPoint_ID": f"019c21ff-{n:04}",
        "Task_Group_ID": "b9e8d6b7",
        "Task_Type": "multiple_choice",
        "Question": QUESTION,
        "Prompt": f"Question {n}",
        "judge": word(n, 4),
    }
    for place, (participant, every) in enumerate(PARTICIPANTS.items(), start=1):
        row |= {
            f"Annotator{place}_ID": participant,
            f"Annotator{place}_Response": word(n, every),
            f"Annotator{place}_Timestamp": "2026-02-03T05:47:24.483Z",
        }
    why = {"Task_Type": "free_text", "Question": "Why?", "Annotator1_Response": "because"}
    return [row, row | why]


def prolific_answer(n, every):
    """The answers of a participant to a task, as in prolific-oss/cli, model/ai_task_builder.go."""
    return [
        {"instruction_id": "i-1", "type": "multiple_choice", "answer": [{"value": word(n, every)}]},
        {"instruction_id": "i-2", "type": "free_text", "answer": [{"value": "because"}]},
    ]


def prolific_response(n, participant, response):
    return {
        "id": f"r-{n}",
        "batch_id": "b",
        "participant_id": participant,
        "submission_id": f"s-{participant}",
        "task_id": f"task-{n}",
        "correlation_id": "c",
        "metadata": {"judge": word(n, 4), "question": f"Question {n}"},
        "response": response,
        "created_at": "2026-02-03T05:47:24.483Z",
        "schema_version": 1,
    }


PROLIFIC_API = {
    "results": [
        prolific_response(n, participant, response)
        for n in range(N)
        for participant, every in PARTICIPANTS.items()
        for response in prolific_answer(n, every)
    ],
    "meta": {"count": 4 * N},
}


def prolific_task(n):
    """A task with the answers of all; only what its line contains is documented, not its keys."""
    return {
        "task_id": f"task-{n}",
        "metadata": {"judge": word(n, 4), "question": f"Question {n}"},
        "responses": [
            {"participant_id": participant, "submission_id": "s", "answers": prolific_answer(n, by)}
            for participant, by in PARTICIPANTS.items()
        ],
    }


def prolific_submission(participant, every):
    return {
        "submission_id": f"s-{participant}",
        "participant_id": participant,
        "status": "APPROVED",
        "tasks": [
            {
                "task_id": f"task-{n}",
                "metadata": {"judge": word(n, 4), "question": f"Question {n}"},
                "responses": prolific_answer(n, every),
            }
            for n in range(N)
        ],
    }


def lines(records):
    return "\n".join(map(json.dumps, records)) + "\n"


def write_prolific(form, folder):
    """A file of Prolific in one of its forms."""
    tasks = lines(prolific_task(n) for n in range(N))
    if form == "report":
        return table_file([row for n in range(N) for row in prolific_report(n)], folder)
    path = folder / f"batch.{form}"
    if form == "zip":
        batch = {"batch_items": [{"id": "i-1", "type": "multiple_choice", "description": QUESTION}]}
        with zipfile.ZipFile(path, "w") as archive:
            archive.writestr("README.md", "How to use it")
            archive.writestr("batch.json", json.dumps(batch))
            archive.writestr("responses-by-task.jsonl", tasks)
            archive.writestr("files/s-1/batch.json", "sent by a participant")
        return path
    submissions = lines(prolific_submission(*rater) for rater in PARTICIPANTS.items())
    path.write_text({"json": json.dumps(PROLIFIC_API), "task.jsonl": tasks}.get(form, submissions))
    return path


@pytest.mark.parametrize("form", ["report", "json", "task.jsonl", "submission.jsonl", "zip"])
def test_answers_of_a_batch_on_prolific_are_read_without_the_ids_of_participants(form, tmp_path):
    labels = read(write_prolific(form, tmp_path))

    assert labels.reading[0] == "format: prolific"
    by = by_rater(labels)
    people = labels.raters(is_judge=False)
    assert sorted(by[person] for person in people) == sorted(
        [word(n, every) for n in range(N)] for every in PARTICIPANTS.values()
    )
    assert by["judge"] == [word(n, 4) for n in range(N)]
    assert not any(participant in str(labels) for participant in PARTICIPANTS)
    assert {labels.question[item] for item in labels.items} == {f"Question {n}" for n in range(N)}


def test_a_judge_of_prolific_tasks_can_be_in_another_file(tmp_path):
    people, judge = write_prolific("json", tmp_path), tmp_path / "judge.csv"
    judge.write_text("task_id,verdict\n" + "".join(f"task-{n},{word(n, 7)}\n" for n in range(N)))

    labels = read(people, str(judge), "--on", "task_id")

    assert by_rater(labels)["judge"] == [word(n, 7) for n in range(N)]
    assert len(labels.raters(is_judge=False)) == 2


def test_one_question_of_prolific_is_checked_and_one_option_is_a_label(tmp_path):
    def batch(*answers):
        return [
            prolific_response(1, "5f01", {"instruction_id": one, "type": kind, "answer": chosen})
            for one, kind, chosen in answers
        ]

    a, b = {"value": "a"}, {"value": "b"}
    both = [("i-1", "multiple_choice", [a]), ("i-2", "multiple_choice_with_free_text", [a, b])]

    with pytest.raises(BadTable, match="no answers to an instruction with multiple choice"):
        _from_json(batch(("i-3", "free_text", [a])), tmp_path)
    with pytest.raises(BadTable, match=r"several questions: i-1, i-2\. Name one of these with"):
        _from_json(batch(*both), tmp_path)
    with pytest.raises(BadTable, match=r"answer 2: several options were chosen \(a, b\)"):
        read(tmp_path / "export.json", "--metric", "i-2")
    with pytest.raises(BadTable, match=r"no answers to “i-9”\. It has: i-1, i-2"):
        read(tmp_path / "export.json", "--metric", "i-9")
    labels = read(tmp_path / "export.json", "--metric", "i-1").labels
    assert [each.value for each in labels if not each.is_judge] == ["a"]


def test_questions_of_a_zip_of_prolific_have_the_words_of_the_batch(tmp_path):
    path = write_prolific("zip", tmp_path)

    assert len(read(path, "--metric", QUESTION).labels) == 3 * N
    with pytest.raises(BadTable, match=re.escape(f"It has: {QUESTION}. Name one")):
        read(path, "--metric", "other")


def test_an_eval_file_of_inspect_is_read_sample_by_sample(tmp_path):
    path = tmp_path / "log.eval"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("header.json", "{}")
        for sample in INSPECT["samples"]:
            archive.writestr(f"samples/{sample['id']}_epoch_1.json", json.dumps(sample))

    labels = read(path)

    assert by_rater(labels) == by_rater(_from_json(INSPECT, tmp_path))
    assert labels.question["s3"] == "Question 3"


def _from_json(document, folder):
    path = folder / "export.json"
    path.write_text(json.dumps(document))
    return read(path)


def test_what_an_export_knows_besides_labels_is_read(tmp_path):
    def export(form):
        return _from_json(FORMS[form][1], tmp_path)

    assert export("mlflow").gold["tr-3"] == "false"
    assert export("lm-eval").gold["7"] == "fail"
    assert export("deepeval").question["3"] == "Question 2"
    assert export("mlflow").persona["tr-3"] == "p3"
    assert export("label-studio").gold["3"] == "fail"
    assert export("label-studio").question["3"] == "Which?"
    certainties = {(each.rater, each.certainty) for each in export("argilla").labels}
    assert certainties == {("u-1", 80.0), ("u-2", None), ("gpt-4o", 75.0)}
    assert {each.certainty for each in export("label-studio").labels if each.is_judge} == {90.0}


def test_several_labelled_things_need_a_name(tmp_path):
    tasks = [
        {
            "id": n,
            "data": {},
            "annotations": [{"completed_by": 1, "result": [choice("a"), choice("x", "tone")]}],
            "predictions": [{"result": [choice("b"), choice("y", "tone")]}],
        }
        for n in range(3)
    ]

    with pytest.raises(
        BadTable, match=re.escape("labelled several things: tone, verdict. Name one with")
    ):
        _from_json(tasks, tmp_path)
    assert {each.value for each in read(tmp_path / "export.json", "--metric", "tone").labels} == {
        "x",
        "y",
    }
    with pytest.raises(BadTable, match=re.escape("no labels of “style”. It has: tone, verdict")):
        read(tmp_path / "export.json", "--metric", "style")


@pytest.mark.parametrize(
    ("document", "message"),
    [
        (
            [{"data": {}, "annotations": [{"result": [choice("a")]}], "predictions": []}],
            "nothing was labelled by both people and a judge. People: verdict. Judges: none.",
        ),
        ({"samples": [{"id": 1, "scores": {}}]}, "has no scores. Score it first."),
        (
            {"results": {"results": [{"gradingResult": {"componentResults": []}}]}},
            "no result of a model-graded assertion",
        ),
        (
            {"samples": [{"id": 1, "scores": {"s": {"value": "C"}}}]},
            "no column with labels by people was found",
        ),
    ],
)
def test_an_export_without_labels_of_both_is_refused(document, message, tmp_path):
    with pytest.raises(BadTable) as refused:
        _from_json(document, tmp_path)

    assert message in str(refused.value)


def test_a_workbook_and_a_broken_archive_are_refused(tmp_path):
    path = tmp_path / "labels.xlsx"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("[Content_Types].xml", "<x/>")
    with pytest.raises(BadTable, match=re.escape("the workbook cannot be read. Save it again")):
        read(path)

    path.write_bytes(b"PK\x03\x04 nothing else")
    with pytest.raises(BadTable, match=re.escape("cannot be read as an .eval file of Inspect")):
        read(path)


def test_json_that_is_broken_names_its_line(tmp_path):
    path = tmp_path / "labels.jsonl"
    path.write_text('{"id": 1, "human_1": "a", "judge": "b"}\n{"id": 2,\n')

    with pytest.raises(
        BadTable, match=re.escape("labels.jsonl cannot be read.\nLine 2: this is not JSON")
    ):
        read(path)


def test_a_choice_of_a_model_is_the_most_likely_one(tmp_path):
    sample = {
        "doc_id": 0,
        "doc": {"choices": ["yes", "no"], "human_1": "1", "human_2": "0"},
        "target": "no",
        "resps": [[["-3.5", "False"]], [["-1.5", "False"]]],
        "filtered_resps": [["-3.5", "False"], ["-1.5", "False"]],
    }

    labels = _from_json([sample, sample | {"doc_id": 1, "filter": "strict"}], tmp_path)

    assert labels.gold == {"0": "1", "1": "1"}
    given = {each.rater: each.value for each in labels.labels if each.is_judge}
    assert given == {"model": "1", "model, filter strict": "1"}


@pytest.mark.parametrize(("at", "value"), [("filtered_resps", [["x", 1], ["y", 2]]), ("doc", 3)])
def test_an_export_with_a_part_of_another_type_is_refused_or_read(at, value, tmp_path):
    samples = [LM_EVAL[0] | {at: value}, *LM_EVAL[1:]]

    if at == "doc":
        assert len(_from_json(samples, tmp_path).labels) == 3 * N - 2
    else:
        with pytest.raises(BadTable, match="an export of lm-eval, but a part of it has another"):
            _from_json(samples, tmp_path)


def test_labels_by_rater_are_those_of_people_and_models_by_the_names_of_files(tmp_path):
    people = {f"w{w}": {f"s{n}": word(n, w + 2) for n in range(N)} for w in (1, 2, 3)}
    models = {"steady": {f"s{n}": word(n, 4) for n in range(N)}}
    files = []
    for name, content in (("human_annotations", people), ("llm_annotations", models)):
        files.append(tmp_path / f"{name}.json")
        files[-1].write_text(json.dumps(content))

    labels = read_labels(options_of([*map(str, files)]))

    assert "format: alt-test" in labels.reading
    assert labels.raters(is_judge=False) == ["w1", "w2", "w3"]
    assert labels.raters(is_judge=True) == ["steady"]
    assert len(labels.labels) == 4 * N


def test_a_table_by_columns_is_not_taken_for_labels_by_rater(tmp_path):
    path = tmp_path / "table.json"
    columns = {"item": lambda n: f"s{n}", "ann": lambda n: word(n, 3), "gpt": lambda n: word(n, 4)}
    path.write_text(
        json.dumps({name: {str(n): of(n) for n in range(N)} for name, of in columns.items()})
    )

    labels = read(path, "--people", "ann", "--judge", "gpt")

    assert not any(line.startswith("format: ") for line in labels.reading)
    assert len(labels.labels) == 2 * N
