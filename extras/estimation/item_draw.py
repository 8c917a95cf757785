"""Draw the items for annotators where a judge is most likely to be wrong."""

from dataclasses import dataclass

from django.contrib.auth.models import User

from analysis.errors import BadParameters
from judging.models import JudgeRun
from judging.selectors import labels_of
from studies.models.studies import Study
from studies.services.items import store_draw

FEWEST_KNOWN = 30  # own answers from which a certainty is corrected
DIGITS = 9  # of a probability, so that equal certainties have one


@dataclass(frozen=True)
class ItemDraw:
    """A draw of items, and the range of their probabilities."""

    size: int
    items: int
    lowest: float
    highest: float
    seed: int


def runs_with_certainty(study: Study) -> list[tuple[str, str]]:
    """Key and name of every run that states a certainty, for a list of choices."""
    runs = study.judge_runs.filter(bias_probe="", judgments__certainty__isnull=False)
    named = JudgeRun.objects.filter(pk__in=runs.values("pk")).select_related("judge", "wording")
    ordered = list(named.order_by("judge__name", "key"))
    labels = labels_of(ordered)
    return [(run.key, labels[run.pk]) for run in ordered]


def find_run(study: Study, name: str) -> str:
    """The key of the run given by a judge's name or the start of a run's key.

    Raises `BadParameters` unless it matches exactly one run that states a certainty.
    """
    runs = runs_with_certainty(study)
    named = [key for key, label in runs if f"{label}: ".startswith(f"{name}: ")]
    matching = named or [key for key, _ in runs if name and key.startswith(name)]
    if len(matching) == 1:
        return matching[0]
    known = "; ".join(f"{key[:8]} is {label}" for key, label in runs) or "none"
    if matching:
        raise BadParameters(f"“{name}” has several runs. Name one by its key: {known}.")
    raise BadParameters(
        f"This study has no run “{name}” that states a certainty. Runs that do: {known}."
    )


def draw_by_judge(
    *, study_id: int, run: str, size: int, seed: int | None = None, user: User | None = None
) -> ItemDraw:
    """Draw `size` items with probabilities proportional to the judge's error, and store them.

    A judge that is right with probability c has the error sqrt(c(1 - c)). c is its certainty,
    corrected by own answers if at least 30 are known. Raises `BadParameters` if there are fewer
    items, and `FrozenStudy` if annotators already have some.
    """
    import numpy as np

    from extras.estimation.items import judged_items
    from extras.estimation.stats import draw_items, draw_probabilities, error_spread
    from extras.estimation.stats.calibrated import isotonic

    study = Study.objects.get(pk=study_id)
    judged = judged_items(study, run)
    n = len(judged.keys)
    if not 1 <= size < n:
        raise BadParameters(
            f"The number of items is {size}. Use a whole number from 1 to {n - 1}: the study has "
            f"{n} items."
            if n > 1
            else "The study has no items to draw from. Import items first."
        )
    right = judged.certainty / 100
    known = (judged.correct >= 0) & ~np.isnan(right)
    if known.sum() >= FEWEST_KNOWN:
        stated = ~np.isnan(right)
        right[stated] = isotonic(right[known], judged.correct[known], right[stated])
    chances = draw_probabilities(error_spread(right), size).round(DIGITS)
    seed = study.seed if seed is None else seed
    drawn = draw_items(chances, rng=np.random.default_rng(abs(seed)))
    label = dict(runs_with_certainty(study)).get(run, run)
    store_draw(
        study_id=study_id,
        probabilities=dict(zip(judged.keys, chances.tolist(), strict=True)),
        drawn=[key for key, is_drawn in zip(judged.keys, drawn, strict=True) if is_drawn],
        by={
            "judge": label,
            "run": run,
            "seed": seed,
            "is_corrected": bool(known.sum() >= FEWEST_KNOWN),
            "lowest": float(chances.min()),
            "highest": float(chances.max()),
        },
        user=user,
    )
    return ItemDraw(int(drawn.sum()), n, float(chances.min()), float(chances.max()), seed)
