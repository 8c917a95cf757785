"""People who answered for themselves, stored at once; no page is opened."""

from django.utils import timezone

from annotation.models import Annotation, Annotator, Assignment, DemographicQuestion
from extras.own_answers.models import OwnProfile, SecondVisitSettings
from extras.own_answers.profiles import features_of
from studies.models import Item, Persona, Study
from tests.factories import make_study


def make_own_study(items: int = 6, **overrides) -> Study:
    """A study in which people answer for themselves, with a question about them."""
    fields = {"perspective": "own", "show_history": 2, "items_per_annotator": items}
    study = make_study(**fields | overrides)
    nobody = Persona.objects.create(study=study, key="nobody", text="Nothing is known.")
    Item.objects.bulk_create(
        Item(
            study=study,
            persona=nobody,
            key=f"q{n:02}",
            task=study.task,
            question=f"Question {n}?",
            r1={"text": f"First {n}"},
            r2={"text": f"Second {n}"},
            seats_needed=study.annotations_per_item,
            shuffle_key=n,
            content_hash=f"{n:064}",
        )
        for n in range(items)
    )
    ask_for_age(study)
    return study


def bring_back(study: Study, share: int, days: int = 7) -> Study:
    """Have people answer this percentage of their items again."""
    SecondVisitSettings.objects.create(study=study, retest_share=share, retest_days=days)
    return study


def ask_for_age(study: Study) -> None:
    """Add a question about annotators, with the sentence that a profile has for its answer."""
    DemographicQuestion.objects.create(
        study=study,
        key="age",
        label="How old are you?",
        options=[{"value": "a", "label": "18–29"}, {"value": "b", "label": "30 or older"}],
        sentence="The person is {answer} years old.",
    )


def make_person(
    study: Study, choices: list[str], *, text: str = "I sail.", is_shown: bool = True
) -> Annotator:
    """Somebody who completed with these answers to the items by key, and decided."""
    now = timezone.now()
    annotator = Annotator.objects.create(
        study=study,
        state=Annotator.State.COMPLETED,
        demographics={"age": "a"},
        ended_at=now,
        consented_at=now,
    )
    items = list(Item.objects.filter(study=study).order_by("key"))
    assignments = Assignment.objects.bulk_create(
        Assignment(
            annotator=annotator,
            item=item,
            position=place,
            shown_first="r1",
            is_surplus=True,
            state=Assignment.State.ANSWERED,
        )
        for place, item in enumerate(items[: len(choices)], start=1)
    )
    Annotation.objects.bulk_create(
        Annotation(
            assignment=assignment,
            choice=choice,
            certainty=None if choice == "tie" else 60 + place,
            certainty_asked=True,
            standing=Annotation.Standing.SURPLUS,
            answered_at=now,
        )
        for place, (assignment, choice) in enumerate(zip(assignments, choices, strict=True))
    )
    OwnProfile.objects.create(
        annotator=annotator,
        is_shown=is_shown,
        features=features_of(annotator) if is_shown else [],
        text=text if is_shown else "",
        examples=study.show_history if is_shown else 0,
        decided_at=now,
    )
    return annotator
