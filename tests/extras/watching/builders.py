"""Passports as certificates write them, without certifying."""

from typing import Any

from analysis.data.dataset import load_dataset
from analysis.data.domain import domain_of
from analysis.passports import Passport
from judging.runs.records import (
    judge_description,
    protocol_description,
    readings_of,
    reported_versions,
)
from studies.models import Item, Study


def make_passport(study: Study, judge: str = "steady", **content: Any) -> Passport:
    """A passport of the one run of a judge whose anchors are all of the study's items."""
    run = study.judge_runs.select_related("judge", "study", "wording").get(judge__name=judge)
    items = list(Item.objects.filter(study=study).order_by("key"))
    readings = readings_of(run, [item.key for item in items])
    described = {"run": run.key, "versions": reported_versions([run])}
    return Passport(
        {
            "made_on": "2024-05-13",
            "study": {"slug": study.slug, "content_hash": study.content_hash},
            "jury": "",
            "judges": [judge_description(run) | described],
            "protocol": protocol_description(run),
            "signal": "stated",
            "target": "first_person",
            "error": 0.1,
            "confidence": 0.9,
            "among": 1,
            "threshold": 50.0,
            "coverage": 1.0,
            "accepted": {"n": len(items), "errors": 0},
            "tested": [],
            "n": len(items),
            "n_all": len(items),
            "seed": 1,
            "by": "item",
            "redraw": 0,
            "domain": domain_of(load_dataset(study.slug)),
            "calibration": {},
            "guarantee": "",
            "anchors": [
                {
                    "item": item.key,
                    "content_hash": item.content_hash,
                    "right": item.first_person,
                    "answer": readings[item.key][0]["choice"],
                    "certainty": readings[item.key][0]["certainty"],
                    "readings": [readings[item.key]],
                }
                for item in items
            ],
        }
        | content
    )
