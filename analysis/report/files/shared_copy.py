"""A report for people outside the study: without rows about single people or items."""

from collections.abc import Mapping
from typing import Any

from analysis.report.encode import Json

# A value that fewer personas have could tell who somebody is.
FEWEST_PERSONAS = 5


def without_people(report: Mapping[str, Any]) -> Json:
    """`report` without annotators, items, and groups of few personas, and saying so in `redacted`.

    Items are about real people: what they asked, answered and are like stays inside as well.
    """
    human = {**report["human"], "raters": [], "quotas": []}
    return {
        **report,
        "human": human,
        "items": [],
        "groups": [_coarse(table) for table in report["groups"]],
        "who_judges_whom": [_fewer_columns(table) for table in report["who_judges_whom"]],
        "redacted": ["human.raters", "human.quotas", "items", "groups of fewer than five personas"],
    }


def _coarse(table: Mapping[str, Any]) -> Json:
    """A table of groups without those that fewer than five personas share."""
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
    """Who judges whom without groups of too few personas; those of annotators are large already."""
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
