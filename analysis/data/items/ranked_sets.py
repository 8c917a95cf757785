"""Sets of options that items were paired from, and how judges and annotators ranked them."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from analysis.data.annotators.answers import COUNTED
from analysis.data.arrays import MISSING, Ranked, RankedSets, Run
from annotation.models import Annotation
from judging.models import Judgment
from studies.models import Item, Study


def ranked_sets_of(
    study: Study,
    position: Mapping[int, int],
    items: Sequence[tuple[str, Mapping[str, Any] | None]],
    runs: Sequence[Run],
    raters: Sequence[str] = (),
) -> RankedSets | None:
    """The sets of a study whose items were paired from some, with their rankings; else None.

    `items` are the persona and the stored set of each item, if any, in the order of the items.
    """
    found = [(n, persona, stored) for n, (persona, stored) in enumerate(items) if stored]
    if not found:
        return None
    set_of = np.full(len(items), MISSING, dtype=np.int64)
    codes: dict[tuple[str, str], int] = {}
    sizes, chosen, first_items, rules = [], [], [], set()
    for place, persona, option_set in found:
        key = option_set["id"], persona
        if key not in codes:
            codes[key] = len(codes)
            sizes.append(len(option_set["others"]) + 2)
            chosen.append(option_set["chosen"] or 0)
            first_items.append(place)
        set_of[place] = codes[key]
        rules.add(option_set["rule"])
    rankings = _rankings(study, position, set_of)
    return RankedSets(
        set_of=set_of,
        sizes=np.array(sizes, dtype=np.int64),
        chosen=np.array(chosen, dtype=np.int64),
        item=np.array(first_items, dtype=np.int64),
        rules=tuple(sorted(rules)),
        rankings={run.run: rankings[run.run] for run in runs if run.run in rankings},
        people=_of_people(study, position, set_of, raters) if study.shows_whole_sets else (),
    )


def _of_people(
    study: Study, position: Mapping[int, int], set_of: Any, raters: Sequence[str]
) -> tuple[Ranked, ...]:
    """The orders that count, by set and rater."""
    number = {pseudonym: index for index, pseudonym in enumerate(raters)}
    found = Annotation.objects.filter(
        assignment__annotator__study=study,
        assignment__annotator__excluded_at=None,
        assignment__item__split=Item.Split.MAIN,
        standing__in=COUNTED,
        ranking__isnull=False,
    ).values_list("assignment__item", "assignment__annotator__pseudonym", "ranking")
    orders = []
    for item, rater, ranking in found.iterator():
        given: Mapping[str, Any] = ranking or {}
        option_set = int(set_of[position[item]])
        shown, ranked = tuple(given["shown"]), tuple(given["ranking"])
        orders.append(Ranked(option_set, number[rater], shown, ranked))
    return tuple(sorted(orders))


def _rankings(
    study: Study, position: Mapping[int, int], set_of: Any
) -> dict[str, tuple[Ranked, ...]]:
    """The replies of each run about whole sets, by its key, in an order of their content."""
    found = Judgment.objects.filter(
        run__study=study,
        run__bias_probe="",
        details__has_key="ranking",
        asked_with=None,
        item__split=Item.Split.MAIN,
    ).values_list("run__key", "item_id", "sample", "details")
    runs: dict[str, list[Ranked]] = {}
    for run, item, sample, details in found.iterator():
        given: Mapping[str, Any] = details or {}
        row = Ranked(
            int(set_of[position[item]]), sample, tuple(given["shown"]), tuple(given["ranking"])
        )
        runs.setdefault(run, []).append(row)
    return {run: tuple(sorted(rows)) for run, rows in runs.items()}
