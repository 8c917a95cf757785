"""A report for readers outside the study, without rows about single annotators or items."""

from collections.abc import Mapping
from typing import Any

from analysis.report.encode import Json

# A value that fewer personas share could identify somebody.
FEWEST_PERSONAS = 5


def without_people(report: Mapping[str, Any]) -> Json:
    """Copy `report` without annotators, items and groups of few personas, noted in `redacted`.

    Items are about real people, so their questions, answers and features are removed as well.
    """
    # A reason is free text of a researcher, in which anybody may be named.
    known = report.get("human", {})
    excluded = [{**each, "rater": "", "reason": ""} for each in known.get("exclusions", [])]
    human = {**known, "raters": [], "quotas": [], "exclusions": excluded}
    errors = report.get("group_errors")
    if errors is not None:
        sides = (errors["people"], *errors["judges"])
        people, *judges = (
            [one for one in side if one["personas"] >= FEWEST_PERSONAS] for side in sides
        )
        report = {**report, "group_errors": {"people": people, "judges": judges}}
    return {
        **report,
        "human": human,
        "items": [],
        "groups": [_coarse(table) for table in report.get("groups", ())],
        "who_judges_whom": [_fewer_columns(table) for table in report.get("who_judges_whom", ())],
        "redacted": [
            "human.raters",
            "human.quotas",
            "human.exclusions.rater",
            "human.exclusions.reason",
            "items",
            "groups of fewer than five personas",
        ],
    }


def _coarse(table: Mapping[str, Any]) -> Json:
    """A table of groups without groups of fewer than five personas."""
    if table["by"] != "feature":
        return dict(table)
    kept = [row for row in table["rows"] if row["personas"] >= FEWEST_PERSONAS]
    names = {row["value"] for row in kept}
    differences = table["differences"]

    def among(pairs: list[Json]) -> list[Json]:
        return [pair for pair in pairs if {pair["first"], pair["second"]} <= names]

    return {
        **table,
        "rows": kept,
        "differences": {
            "people": among(differences["people"]),
            "judges": [among(pairs) for pairs in differences["judges"]],
        },
    }


def _fewer_columns(table: Mapping[str, Any]) -> Json:
    """Cross-group tables without groups of few personas; annotator groups are already large."""
    kept = [
        place
        for place in range(len(table["columns"]))
        if any(row["cells"][place]["personas"] >= FEWEST_PERSONAS for row in table["rows"])
    ]
    return {
        **table,
        "columns": [table["columns"][place] for place in kept],
        "rows": [
            {**row, "cells": [row["cells"][place] for place in kept]} for row in table["rows"]
        ],
    }
