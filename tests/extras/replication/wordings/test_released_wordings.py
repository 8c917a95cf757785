"""Wordings of released files. The files themselves may not be part of this project."""

import hashlib
import io
import json
import os
from pathlib import Path

import pytest
from django.core.management import CommandError, call_command

from extras.replication.released.result_rows import aligned, parse_released
from extras.replication.wordings.recovered import import_protocol
from judging.models import PromptTemplate
from judging.prompts.asking import Asking
from judging.protocols.framings import framing
from judging.protocols.registry import protocol
from studies.importers.files.bundle import file_at
from studies.importers.items.import_source import read_paths
from studies.importers.items.item_bundle import ImportOptions
from studies.importers.items.storage import import_items
from studies.models import Item, Study
from tests.factories import make_study
from tests.judging.llm_server import LlmServer, completion
from tests.judging.run_helpers import asked, judge_all, states

RELEASED = os.environ.get("THIRDPERSON_PAPER_OUTPUTS")
PEOPLE = [
    "The person is female. The person is 25-34 years old. The person is born in Chile and "
    "currently lives in Canada.",
    "The person is male. The person keeps {{ response_b }} on a shelf",
    "The person is 71 years old. Religiously, The person is Christian.",
]
WORDS = (
    "Read the profile. Say [[A]] or [[B]], with a certainty level from 1 to 100.\n\n"
    "<profile>\n{person}\n</profile>\n<ask>{question}</ask>\nFirst:\n{a}\nSecond:\n{b}\n\n[["
)


def released(words=WORDS, **changes):
    """Rows in the shape of a released file."""
    rows = []
    for number in range(7):
        person, question = PEOPLE[number % 3], f"Tea or coffee number {number}? "
        a, b = f"Tea, {number} cups. ", f"Coffee.\r\nBlack, {{{{ persona }}}} {number} times."
        rows.append(
            {
                "prompt": words.format(person=person, question=question, a=a, b=b),
                "answer": "A",
                "certainty": "60",
                "acc": True,
                "ground_truth": "A",
                "user_info": person,
                "question": question,
                "asst_A": a,
                "asst_B": b,
                "conversation_type": "unguided",
            }
        )
    for line, fields in changes.items():
        rows[int(line.removeprefix("line_")) - 1] |= fields
    return rows


def written(tmp_path, rows, name="prism_all_features_x.jsonl"):
    path = tmp_path / name
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    return path


def study_of(path, slug="released"):
    import_items(slug, read_paths([path], ImportOptions("preference")), create=True)
    return Study.objects.get(slug=slug)


def rebuilt(study, wording, path):
    """Which prompts of a file the stored wording rebuilds from the stored items alone."""
    wording = PromptTemplate.objects.get(pk=wording.pk)
    asking = Asking(
        study=study,
        protocol=protocol(wording.setting),
        features=None if wording.template else [],
        framing=framing("observer"),
        language="en",
        template=wording,
    )
    items = {item.key: item for item in Item.objects.filter(study=study).select_related("persona")}
    prompts = [json.loads(line)["prompt"] for line in path.read_text("utf-8").splitlines()]
    equal = []
    for row, prompt in zip(parse_released(file_at(path)), prompts, strict=True):
        item = items[row.item_id]
        [message] = asking.messages(item, shown_first=aligned(row, item.r1).shown_first)
        equal.append(message.text == prompt)
    return equal


@pytest.mark.django_db
def test_the_wording_of_a_file_rebuilds_its_prompts_from_the_items(tmp_path):
    path = written(tmp_path, released())
    study = study_of(path)

    found = import_protocol(study_id=study.pk, file=file_at(path), name="theirs")

    assert rebuilt(study, found.wording, path) == [True] * 7
    assert found.wording.setting == "certainty"
    assert found.wording.template == WORDS.format(
        person="{{ persona }}",
        question="{{ question_text }}",
        a="{{ response_a }}",
        b="{{ response_b }}",
    )


@pytest.mark.django_db
def test_a_file_that_shows_the_sides_the_other_way_round_fits_the_same_items(tmp_path):
    path = written(tmp_path, released())
    study = study_of(path)
    swapped = [
        row
        | {
            "asst_A": row["asst_B"],
            "asst_B": row["asst_A"],
            "ground_truth": "B",
            "prompt": WORDS.format(
                person=row["user_info"], question=row["question"], a=row["asst_B"], b=row["asst_A"]
            ),
        }
        for row in released()
    ]
    other = written(tmp_path, swapped, "prism_all_features_y.jsonl")

    found = import_protocol(study_id=study.pk, file=file_at(other))

    assert rebuilt(study, found.wording, other) == [True] * 7
    assert rebuilt(study, found.wording, path) == [True] * 7


@pytest.mark.django_db
def test_an_item_that_was_edited_shows_its_own_text(tmp_path):
    path = written(tmp_path, released())
    study = study_of(path)
    found = import_protocol(study_id=study.pk, file=file_at(path))
    Item.objects.filter(study=study, question="Tea or coffee number 0?").update(
        question="Milk?", content_hash="0" * 64
    )

    assert rebuilt(study, found.wording, path) == [False] + [True] * 6


@pytest.mark.django_db
def test_the_same_file_again_stores_nothing_and_prompts_without_profile_have_a_text(tmp_path):
    words = WORDS.replace("<profile>\n{person}\n</profile>\n", "")
    words = words.replace("1 to 100", "1 to 5")
    path = written(tmp_path, released(words))
    study = study_of(path)
    out = io.StringIO()

    for _ in range(2):
        call_command("import_wording", study.slug, str(path), "--recover", stdout=out)

    [wording] = PromptTemplate.objects.filter(study=study)
    assert (wording.template, wording.setting) == ("", "standard")
    assert "{{ response_a }}" in wording.template_without_persona
    assert "certainty from 1 to 5, which is not stored" in str(wording.note)
    assert "rebuilds all 7 prompts byte for byte" in out.getvalue()
    assert "--features none" in out.getvalue()


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            {"line_5": {"prompt": released()[4]["prompt"].replace("First:", "1st:")}},
            r"Lines 1 and 5 have no common template.*“…?.*1st:",
        ),
        (
            {"line_7": {"prompt": released()[6]["prompt"].removesuffix("[[")}},
            "Lines 1 and 7 have no common template.*its end",
        ),
        (
            {f"line_{n}": {"prompt": f"Show {n}"} for n in range(1, 8)},
            "do not show both responses|have no common template",
        ),
    ],
)
def test_rows_that_disagree_are_named_and_nothing_is_stored(tmp_path, change, message):
    path = written(tmp_path, released(**change))
    study = study_of(path)

    with pytest.raises(CommandError, match=message):
        call_command("import_wording", study.slug, str(path), "--recover")

    assert not PromptTemplate.objects.exists()


@pytest.mark.django_db
def test_a_study_with_some_of_the_items_proves_those(tmp_path):
    path = written(tmp_path, released())
    study = study_of(written(tmp_path, released()[:3], "prism_all_features_z.jsonl"))
    out = io.StringIO()

    call_command("import_wording", study.slug, str(path), "--recover", stdout=out)

    assert "rebuilds all 7 prompts byte for byte, 3 of them from the items" in out.getvalue()


@pytest.mark.django_db
def test_a_study_without_the_items_or_with_other_profiles_is_refused(tmp_path):
    path = written(tmp_path, released())
    study = make_study()

    with pytest.raises(CommandError, match="has none of the items of this file"):
        call_command("import_wording", study.slug, str(path), "--recover")
    one = [row | {"user_info": "The person is male."} for row in released()]
    for row, old in zip(one, released(), strict=True):
        row["prompt"] = old["prompt"].replace(old["user_info"], "The person is male.")
    fewer = written(tmp_path, one, "prism_all_features_w.jsonl")
    other = study_of(path, "other")
    with pytest.raises(CommandError, match="Line 1: the prompt shows another profile"):
        call_command("import_wording", other.slug, str(fewer), "--recover")


@pytest.mark.django_db
def test_a_file_without_prompts_is_refused(tmp_path):
    path = tmp_path / "answers.jsonl"
    path.write_text('{"item_id": "a", "choice": "r1"}\n')
    study_of(written(tmp_path, released()))

    with pytest.raises(CommandError, match="do not contain the texts"):
        call_command("import_wording", "released", str(path), "--recover")


@pytest.mark.django_db(transaction=True)
def test_a_server_gets_the_bytes_of_the_released_prompts(tmp_path, llm: LlmServer, judge):
    llm.answer = lambda body, n: completion("A]] [[70]]")
    path = written(tmp_path, released())
    study = study_of(path)
    found = import_protocol(study_id=study.pk, file=file_at(path))

    run = judge_all(
        study, judge, wording_id=found.wording.pk, setting="certainty", orders="r1_first"
    )

    prompts = {row["prompt"] for row in released()}
    assert set(asked(llm)) == prompts
    hashes = {hashlib.sha256(prompt.encode()).hexdigest() for prompt in prompts}
    assert set(run.judgments.values_list("prompt_sha256", flat=True)) == hashes
    assert states(run) == {"done": 7}


@pytest.mark.slow
@pytest.mark.django_db
@pytest.mark.skipif(not RELEASED, reason="THIRDPERSON_PAPER_OUTPUTS names no folder")
@pytest.mark.parametrize(
    "name",
    [
        "ap_all_features_all_features_gpt-3.5-turbo.jsonl",
        "ec_all_features_gpt-4o.jsonl",
        "prism_all_features_command-r-plus.jsonl",
        "prism_all_features_least_imp_feature_gpt-4o.jsonl",
        "prism_all_features_with_tie_all_features_gpt-4o.jsonl",
        "prism_no_persona_command-r-plus_new.jsonl",
    ],
)
def test_every_prompt_of_the_released_files_is_rebuilt(name):
    path = Path(RELEASED) / name
    study = study_of(path)

    found = import_protocol(study_id=study.pk, file=file_at(path))

    equal = rebuilt(study, found.wording, path)
    assert all(equal)
    assert len(equal) == found.prompts > 500
