"""Assumptions of a forecast about a study, its people and judges, and forecast jobs."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, Self

from django.contrib.auth.models import User
from django.db import transaction

from analysis.errors import BadParameters
from extras.planning.models import PowerForecast
from extras.planning.tasks import compute_forecast
from studies.jobs.models import WAITING
from studies.jobs.queueing import queue
from studies.jobs.runner import JobProgress, carry_out
from studies.models.studies import Study
from studies.services.studies import lock_study
from studies.statements import clock

DRAWS, SEED = 2000, 20240701
# Among the what-ifs: as many items as these people answer.
PEOPLE = 200
# Larger studies are not simulated: their precision is clear from the interval.
MOST_ANSWERS = 200_000
RANGES: Mapping[str, tuple[float, float]] = {
    "items": (30, 100_000),
    "answers": (1, 15),
    "per_annotator": (1, 1_000),
    "judges": (1, 20),
    "accuracy_people": (0.05, 0.98),
    "accuracy_judge": (0.02, 0.99),
    "sd_item": (0, 4),
    "sd_annotator": (0, 4),
    "sd_persona": (0, 4),
    "sd_question": (0, 4),
    "overlap": (0, 1),
    "margin": (0.001, 0.5),
    "draws": (2000, 20_000),
    "seed": (0, 2**31 - 1),
}
LABELS = {
    "items": "Items",
    "answers": "Answers per item",
    "per_annotator": "Items per annotator",
    "judges": "Judges",
    "accuracy_people": "Accuracy of one person",
    "accuracy_judge": "Accuracy of a judge",
    "sd_item": "SD of items",
    "sd_annotator": "SD of people",
    "sd_persona": "SD of personas",
    "sd_question": "SD of questions",
    "overlap": "Overlap of difficulties",
    "margin": "Equivalence margin",
    "draws": "Simulated studies",
    "seed": "Seed",
}
# Assumptions that a pilot can estimate.
OF_PILOT = (
    "accuracy_people",
    "accuracy_judge",
    "sd_item",
    "sd_annotator",
    "sd_persona",
    "sd_question",
    "overlap",
)


@dataclass(frozen=True, kw_only=True)
class Assumptions:
    """The design and truth that a forecast simulates.

    Standard deviations are on the logit scale. With `accuracy_judge` None, the forecast covers
    differences of −10 to 10 points. `pilot` is the short name of a study whose estimates replace
    the defaults; `chosen` are the values that the researcher entered.
    """

    items: int
    answers: int
    per_annotator: int
    margin: float
    judges: int = 1
    accuracy_people: float = 0.6
    accuracy_judge: float | None = None
    sd_item: float = 1.0
    sd_annotator: float = 0.6
    sd_persona: float = 0.25
    sd_question: float = 0.25
    overlap: float = 0.5
    draws: int = DRAWS
    seed: int = SEED
    pilot: str = ""
    chosen: tuple[str, ...] = ()

    @classmethod
    def of(cls, study: Study, *, items_there: int, **chosen: Any) -> Self:
        """The design of a study with this many items for people; None marks a value not chosen.

        Raises `BadParameters`.
        """
        known = {name: value for name, value in chosen.items() if value is not None}
        size = int(known.get("items", items_there))
        if not size:
            raise BadParameters("The study has no items yet. Import items, or enter their number.")
        fields: dict[str, Any] = {
            "items": size,
            "answers": study.annotations_per_item,
            "per_annotator": min(study.items_per_annotator, size),
            "margin": study.equivalence_margin,
        }
        names = tuple(sorted(name for name in known if name in RANGES))
        assumed = cls(**fields | known, chosen=names)
        assumed.check()
        return assumed

    def check(self) -> None:
        for name, (low, high) in RANGES.items():
            value = getattr(self, name)
            if value is not None and not low <= value <= high:
                raise BadParameters(f"“{LABELS[name]}” is {value:g}. Use {low:g} to {high:g}.")
        if self.per_annotator > self.items:
            raise BadParameters(
                f"One person cannot answer {self.per_annotator} of {self.items} items. Change "
                "“Items per annotator”."
            )
        if self.items * self.answers > MOST_ANSWERS:
            raise BadParameters(
                f"{self.items * self.answers:,} answers are too many to simulate. Use at most "
                f"{MOST_ANSWERS:,}; more hardly change the precision."
            )

    @property
    def stored(self) -> dict[str, Any]:
        return {**asdict(self), "chosen": list(self.chosen)}

    @classmethod
    def read(cls, stored: Mapping[str, Any]) -> Self:
        return cls(**{**stored, "chosen": tuple(stored["chosen"])})


def forecast_of(study_id: int) -> PowerForecast | None:
    return PowerForecast.objects.filter(study=study_id).first()


@transaction.atomic
def request_forecast(*, study_id: int, assumed: Assumptions, user: User | None) -> PowerForecast:
    """Queue the forecast of a study, stopping one with other values."""
    # The lock makes two presses of the button queue one job.
    study = lock_study(study_id)
    forecast, _ = PowerForecast.objects.get_or_create(
        study=study, defaults={"state": PowerForecast.State.DONE}
    )
    if forecast.is_open and not forecast.is_stalled and forecast.assumptions == assumed.stored:
        return forecast
    PowerForecast.objects.filter(pk=forecast.pk).update(
        state=PowerForecast.State.QUEUED,
        message=WAITING,
        progress=0,
        # The worker of the earlier job has another number, so it cannot end this job.
        attempts=forecast.attempts + 1 if forecast.is_open else 0,
        requested_by=user,
        assumptions=assumed.stored,
        heartbeat_at=clock.now(),
        finished_at=None,
    )
    transaction.on_commit(lambda: queue(compute_forecast, forecast.pk))
    forecast.refresh_from_db()
    return forecast


def compute_queued(*, forecast_id: int) -> PowerForecast:
    """Compute a queued forecast; safe to run twice."""
    return carry_out(PowerForecast, forecast_id, _compute, expected=(BadParameters,))


def _compute(job: PowerForecast, progress: JobProgress) -> Mapping[str, Any]:
    from extras.planning.forecast import forecast
    from extras.planning.next_money import AMOUNT, next_purchases

    assumed = Assumptions.read(job.assumptions)
    result = forecast(job.study, assumed, on_progress=progress)
    try:
        bought = next_purchases(job.study, AMOUNT, assumed)
    except BadParameters as error:
        bought = {"problem": str(error)}
    return {"result": result | {"next": bought}}
