"""`thirdperson check FILE --doctor`: what a file supports, and what is missing for more."""

from argparse import Namespace
from collections import Counter
from collections.abc import Iterator, Sequence

from analysis.report.words import number_of
from analysis.stats.comparison.replacement import FEWEST_OF_A_LABEL
from analysis.stats.core.shared_variance import (
    ANNOTATORS_PER_ANSWER,
    FEWEST_ANNOTATORS,
    effective_number,
)
from thirdperson.check.dataset import choices_of
from thirdperson.check.labels import BadTable, Label, LabelTable, listed, same_label
from thirdperson.check.levels import LabelScale, scale_of


def doctor_lines(labels: LabelTable, options: Namespace) -> list[str]:
    """What was read, then one line for each thing that a check can say."""
    people = [label for label in labels.labels if not label.is_judge]
    raters = Counter(label.rater for label in people)
    judges = labels.raters(is_judge=True)
    scale, read, fault = _labels(labels, options)
    advice = [
        f"{options.name}: {number_of(len(labels.items), 'item')}, "
        f"{number_of(len(people), 'label')} by {number_of(len(raters), 'person')}, "
        f"{number_of(len(judges), 'judge')}: {listed(judges)}",
        *(f"  {line}" for line in labels.reading),
        *(f"  {line}" for line in read),
        "",
    ]
    for name, missing in _supported(labels, people, raters, scale, fault):
        advice.append(f"{'no ' if missing else 'yes'}  {name}{f': {missing}' if missing else ''}")
    return advice


def _labels(labels: LabelTable, options: Namespace) -> tuple[LabelScale | None, list[str], str]:
    """How the labels are read, or why they cannot be."""
    try:
        if scale := scale_of(labels, options):
            return scale, scale.words(labels), ""
        two = choices_of(labels, pair=options.labels, tie=options.tie, positive=options.positive)
    except BadTable as error:
        return None, [f"labels: {error}"], "the labels cannot be compared as they are (see above)"
    counts = Counter(same_label(label.value) for label in labels.labels if not label.is_judge)
    parts = [f"{name} ({n:,})" for name, n in counts.most_common()]
    return None, [f"labels: {two.words}", f"  by people: {listed(parts)}"], ""


def _supported(
    labels: LabelTable,
    people: Sequence[Label],
    raters: Counter[str],
    scale: LabelScale | None,
    fault: str,
) -> Iterator[tuple[str, str]]:
    """Each thing that a check can say, and what is missing for it."""
    of_item = Counter(label.item for label in people)
    twice = sum(n >= 2 for n in of_item.values())
    judged = {label.item for label in labels.labels if label.is_judge}
    both = "" if judged & set(of_item) else "no item has both"
    yield "a comparison of judge and people", both or fault
    yield (
        "agreement of people with each other",
        "" if twice else "needs two labels of people for an item",
    )
    per_item = sum(of_item.values()) / max(1, len(of_item))
    wanted = max(FEWEST_ANNOTATORS, round(ANNOTATORS_PER_ANSWER * per_item))
    number = effective_number([*raters.values()]) or 0.0
    yield (
        "a verdict about people in general",
        ""
        if number >= wanted
        else f"needs {wanted} people with equal shares of the labels; these count as {number:.1f} "
        "(or --these-people, for a verdict about these alone)",
    )
    rarest = min(Counter(same_label(label.value) for label in people).values(), default=0)
    few = f"the rarest label has {rarest:,} of {FEWEST_OF_A_LABEL} answers"
    is_balanced = rarest >= FEWEST_OF_A_LABEL or (scale and scale.is_graded)
    yield "agreement with all labels weighted equally", "" if is_balanced else few
    known = len(labels.gold.keys() & set(of_item))
    missing = "" if known else "needs a column of right labels: --gold"
    yield "who is right more often", missing
    if scale:
        yield "recall and precision against right labels", missing
    stores = {"persona": labels.persona, "question": labels.question}
    for name, store in stores.items():
        n = len(set(store.values()))
        why = f"needs a column of {name}s: --{name}" if not store else "all items have the same one"
        yield f"a result for {name}s like these", "" if n > 1 else why
    stated = any(label.certainty is not None for label in labels.labels)
    yield "calibration", "" if stated else "needs certainties, or native probabilities of the judge"
