"""A study that uses every setting and every part of its design, and its files."""

from decimal import Decimal
from pathlib import Path
from typing import Any

from django.contrib.auth.models import User

from analysis.exports.study_export import export_study
from annotation.content.comprehension import QuestionText, set_questions
from annotation.seats.quotas import Quota, QuotaQuestion, set_quotas
from judging.models import Judge, Jury, StudyJudge
from judging.runs.judges import add_judge
from judging.wordings import save_wording
from studies.importers.items.storage import import_items
from studies.models import FeatureSet, Item, Study
from studies.models.added_settings import added_fields
from studies.services.items import store_draw
from studies.services.studies import create_study
from studies.services.whole_studies import delete_rows
from tests.studies.files import jsonl, raw_item, read
from tests.studies.other_settings import SETTINGS


def items() -> list[dict[str, Any]]:
    """Items of every split, with all that an item can have; ids that databases sort differently."""
    whole = raw_item(
        1,
        id="a-1",
        group="g",
        topic="food",
        language="de",
        context="Some context\nin two lines",
        context_title="Context",
        persona={
            "id": "p1",
            "features": [{"key": "age", "label": "Age", "value": "35", "text": "Aged 35."}],
            "text": "Likes soup.",
            "history": [{"prompt": "Tea?", "chosen": "Yes.", "rejected": "No."}],
        },
        responses=[
            {
                "key": "r1",
                "text": "A soup.",
                "score": 90,
                "generated_by": {"kind": "model", "name": "m", "provider": "p", "family": "f"},
            },
            {"key": "r2", "text": "A stew.", "score": 55.5},
        ],
        first_person={"label": "r1", "margin": 34.5, "source": "self_report"},
        warnings=["strong language"],
        metadata={"b": 1, "a": [1.0, {"z": None, "y": True}]},
        advice={"text": "Soup it is.", "title": "Hint", "kind": "advice", "favors": "r1"},
        note="kept",
    )
    fixed = raw_item(2, id="B.2", order={"shuffle": False, "fixed_first": "r2"}, first_person=None)
    practice = raw_item(3, id="a_3", split="practice", metadata={"feedback": "Well done."})
    check = raw_item(
        4,
        id="C:4",
        split="attention_check",
        question="Choose the first one.",
        check={"correct": "r1", "instruction": "Choose the first one."},
        first_person=None,
    )
    return [whole, fixed, practice, check, *(raw_item(n, id=f"a.{n}") for n in range(5, 9))]


def whole_study(slug: str = "suppers") -> Study:
    """A study with all that a design can have, and with no answers."""
    plain = {name: value for name, value in SETTINGS.items() if name != "human_sample"}
    added = {name: field.default + 1 for name, field in added_fields().items()}
    study = create_study(slug=slug, **plain, **added, human_sample=3)
    import_items(slug, [read(jsonl(*items()), task=study.task)])
    FeatureSet.objects.create(study=study, name="two of them", keys=["age", "sex"])
    FeatureSet.objects.create(study=study, name="Age", keys=["age"])
    keys = list(Item.objects.filter(study=study).values_list("key", flat=True))
    store_draw(
        study_id=study.pk,
        probabilities={key: 0.25 + number / 16 for number, key in enumerate(keys)},
        drawn=keys[:3],
        by={"judge": "steady", "run": "r", "seed": 5, "is_corrected": False},
    )
    set_quotas(
        study_id=study.pk,
        questions=[
            QuotaQuestion("gender", "What is “it”?", {"woman": "Woman", "two words": "Man"}),
            QuotaQuestion("age", "Age", {"18-29": "18 – 29", "30+": "30 or more"}),
        ],
        groups=[
            Quota(5, {"gender": "two words"}),
            Quota(4, {"gender": "woman", "age": "30+"}),
            Quota(2),
        ],
    )
    set_questions(
        study_id=study.pk,
        questions=[QuestionText("Which one?", ("This", "That \\ “one”"), 1, "Choose that.")],
    )
    _judges(study)
    _wordings(study)
    return Study.objects.get(pk=study.pk)


def _judges(study: Study) -> None:
    user = User.objects.create_user("somebody")
    steady, _ = add_judge(
        name="steady",
        backend="openai",
        model="m-1",
        base_url="http://gpu1:8000/v1",
        more_base_urls=["http://gpu2:8000/v1"],
        api_key_env="JUDGE_KEY_ONE",
        temperature=0.2,
        top_p=0.5,
        max_tokens=99,
        thinking_tokens=7,
        structured=True,
        timeout_seconds=11,
        outage_seconds=12,
        price_input=Decimal("2.50"),
        price_output=Decimal("10"),
        price_cached_input=Decimal("1.25"),
        batch_price=Decimal("0.4"),
        concurrency=3,
        rpm=60,
        tpm=1000,
        own_sources=["openai"],
        is_own_server=True,
    )
    Judge.objects.filter(pk=steady.pk).update(sealed_key="SECRET", created_by=user)
    careful, _ = add_judge(
        name="careful",
        backend="openai",
        model="m-2",
        base_url="http://gpu3:8000/v1",
        model_options={"leave_out": "seed"},
    )
    for judge in (steady, careful):
        StudyJudge.objects.create(study=study, judge=judge)
    other, _ = add_judge(name="other", backend="replay", model="replies.jsonl")
    jury = Jury.objects.create(study=study, name="both")
    jury.judges.set([steady, other])


def _wordings(study: Study) -> None:
    slots = "{{ response_a }}\n{{ response_b }}"
    first = save_wording(
        study_id=study.pk,
        name="mine",
        setting="certainty",
        template=f"{{{{ persona }}}}\r\n{slots}\n",
        template_without_persona=slots,
        note="by hand",
    )
    type(first).objects.filter(pk=first.pk).update(frozen_at=study.created_at)
    for name in ("mine", "Mine!"):
        save_wording(
            study_id=study.pk,
            name=name,
            setting="standard",
            template=f"{{{{ persona }}}} {slots}",
            source="recovered",
            exact_texts={"a-1": {"question": "Typed  otherwise?"}},
        )


def export(study: Study, out: Path) -> dict[str, bytes]:
    """The files of a study's export by their path."""
    export_study(study, what="study", out=out)
    return {
        path.relative_to(out).as_posix(): path.read_bytes()
        for path in sorted(out.rglob("*"))
        if path.is_file()
    }


def forget(study: Study) -> None:
    """Empty the database of a study and of every judge, as on another installation."""
    delete_rows(study)
    Judge.objects.all().delete()
