"""Annotators as others would see them, their consent, and the page that asks for it."""

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import islice
from typing import Any

from django import forms
from django.db import transaction
from django.db.models import Q, QuerySet
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.utils.translation import gettext_lazy as _
from django.views.decorators.http import require_http_methods

from annotation.errors import InvalidAnswer, WrongStep
from annotation.models import Annotation, Annotator, AnnotatorEvent, DemographicQuestion
from annotation.participants.access import participant_page, see_other, step_url
from annotation.participants.added_steps import AddedStep, EndNote
from annotation.participants.forms import ParticipantForm
from annotation.participants.item_context import progress_of
from annotation.seats import flow
from annotation.seats.flow import ending_of
from extras.own_answers.models import OwnProfile
from studies.importers.items.records import feature
from studies.models import Choice, Item, Persona, RemovedPerson, Study
from studies.pages.responses import REFUSED
from studies.personas import asked_in
from studies.services.items import study_content_hash
from studies.services.studies import lock_study, record
from studies.services.whole_studies import (
    REMOVERS,
    backups_sentence,
    delete_with_all_that_refers,
)
from studies.statements import clock
from studies.texts.normalisation import digest, storable
from studies.texts.slots import Fact, HistoryEntry, Profile

LONGEST_TEXT = 500
LONGEST_EXAMPLE = 8_000  # as in files of items
_ANSWER = "{answer}"
# Standings of counting answers; excluded or withdrawn answers are never own answers.
COUNTING = (Annotation.Standing.COUNTED, Annotation.Standing.SURPLUS)


@dataclass(frozen=True)
class ShownProfile:
    """Exactly what others see; consent is given to its hash, `version`."""

    features: list[dict[str, str]]
    text: str
    examples: list[dict[str, str]]

    @property
    def is_empty(self) -> bool:
        return not (self.features or self.text)

    @property
    def version(self) -> str:
        return digest([self.features, self.text, self.examples])

    @property
    def as_profile(self) -> Profile:
        """The profile in the form in which all profiles are shown."""
        facts = tuple(Fact(**feature) for feature in self.features)
        history = tuple(
            HistoryEntry(example["prompt"], example["chosen"], example["rejected"])
            for example in self.examples
        )
        return Profile(facts, self.text, history)


def shown_profile(annotator: Annotator, text: str) -> ShownProfile:
    """The profile of an annotator, with `text` as their own words."""
    answers = filter(can_be_example, own_answers(annotator))
    examples = [answer.as_example for answer in islice(answers, annotator.study.show_history)]
    return ShownProfile(features_of(annotator), text, examples)


def features_of(annotator: Annotator) -> list[dict[str, str]]:
    """A feature for each question that the annotator answered, without “prefer not to say”."""
    features = []
    for question in annotator.study.demographic_questions.all():
        answer = annotator.demographics.get(question.key)
        label = {option["value"]: option["label"] for option in question.options}.get(answer)
        if label is not None:
            features.append(feature_of(question, label))
    return features


def feature_of(question: DemographicQuestion, answer: str) -> dict[str, str]:
    """An answer to a question as a feature of a persona."""
    key = question.key.replace("-", "_").lower()
    key = key if key[:1].isalpha() else f"q{key}"
    return feature(key, "", answer, question.sentence.replace(_ANSWER, answer))


@dataclass(frozen=True)
class OwnAnswer:
    """An annotator's answer for themselves."""

    item: Item
    choice: str
    certainty: int | None

    @property
    def as_example(self) -> dict[str, str]:
        """The answer as an earlier choice of a persona, which a tie cannot be."""
        other = Choice.R2 if self.choice == Choice.R1 else Choice.R1
        return {
            "prompt": asked_in(question=self.item.question, context=self.item.context),
            "chosen": text_of(self.item, self.choice),
            "rejected": text_of(self.item, other),
        }


def text_of(item: Item, side: str) -> str:
    return str(item.response(side)["text"])


def own_answers(annotator: Annotator) -> list[OwnAnswer]:
    """The annotator's counting answers, in order."""
    rows = (
        Annotation.objects.filter(
            assignment__annotator=annotator,
            assignment__item__split=Item.Split.MAIN,
            standing__in=COUNTING,
        )
        .select_related("assignment__item")
        .order_by("assignment__position")
    )
    return [OwnAnswer(row.assignment.item, row.choice, row.certainty) for row in rows]


def can_be_example(answer: OwnAnswer) -> bool:
    """Whether the answer can be an example: it has a question, is not a tie, and not too long."""
    if answer.choice == Choice.TIE:
        return False
    texts = answer.as_example.values()
    return all(0 < len(text) <= LONGEST_EXAMPLE for text in texts)


def preview_profile(study: Study) -> ShownProfile:
    """A profile for the preview: the first answer to each question, and the first items."""
    questions = study.demographic_questions.all()
    features = [
        feature_of(question, question.options[0]["label"])
        for question in questions
        if question.options
    ]
    items = Item.objects.filter(study=study).order_by("key")[: study.show_history]
    examples = [OwnAnswer(item, Choice.R1, None).as_example for item in items]
    return ShownProfile(features, "", examples)


@transaction.atomic
def decide_profile(
    *, annotator_id: int, is_shown: bool, text: str = "", version: str = ""
) -> OwnProfile:
    """Store whether others may see the annotator's profile, exactly as the annotator saw it.

    `version` is that of the profile on the page. Raises `InvalidAnswer` if the profile has changed
    or is empty, `WrongStep` before the items and, for consent, after the end.
    """
    annotator = flow.lock(annotator_id)
    if annotator.state == Annotator.State.COMPLETED:
        if is_shown:
            raise WrongStep("consent is asked for before the end")
        return hide_profile(annotator)
    if not flow.is_finished(annotator) or not annotator.study.asks_own_answers:
        raise WrongStep(f"annotator {annotator_id} is {annotator.state}")
    if not is_shown:
        return hide_profile(annotator)
    current = shown_profile(annotator, text)
    if current.is_empty or current.version != version:
        raise InvalidAnswer("the profile is empty or has changed")
    return _store(
        annotator,
        is_shown=True,
        features=current.features,
        text=current.text,
        examples=annotator.study.show_history,
    )


def hide_profile(annotator: Annotator) -> OwnProfile:
    """Remove the profile of a locked annotator from every study that shows it."""
    if profile := OwnProfile.objects.filter(annotator=annotator, is_shown=True).first():
        remove_personas(profile.persona_key)
    return _store(annotator, is_shown=False, features=[], text="", examples=0)


def forget_profile(annotator: Annotator) -> None:
    """Remove the profile of a locked annotator who withdraws, and the decision about it."""
    if profile := OwnProfile.objects.filter(annotator=annotator).first():
        remove_personas(profile.persona_key)
        profile.delete()


@transaction.atomic
def remove_personas(key: str) -> int:
    """Remove a person's personas from every study, with items, answers and judgments about them.

    Includes copies of a study, and personas made from this one. Returns how many studies had one.
    The log of each says what backups may still contain.
    """
    slugs = dict(_personas(key).values_list("study", "study__slug").order_by("study").distinct())
    for study_id in slugs:
        _remove(lock_study(study_id), key)
    return len(slugs)


def _personas(key: str) -> QuerySet[Persona]:
    return Persona.objects.filter(Q(key=key) | Q(key__startswith=f"{key}:"))


def _remove(study: Study, key: str) -> None:
    personas = list(_personas(key).filter(study=study).values_list("pk", flat=True))
    own = Item.everything.filter(persona__in=personas)
    items = list(own.values_list("pk", flat=True))
    labels = own.exclude(first_person="").count()
    for remover in REMOVERS:
        remover(study, items)
    delete_with_all_that_refers(Persona, pk__in=personas)
    RemovedPerson.objects.create(study=study, own_answers=labels)
    study.content_hash = study_content_hash(study)
    study.save(update_fields=["content_hash"])
    backups = backups_sentence(study)
    record(study, "profile removed", items=len(items), backups=backups)


def _store(annotator: Annotator, **decision: object) -> OwnProfile:
    profile, _ = OwnProfile.objects.update_or_create(
        annotator=annotator, defaults={**decision, "decided_at": clock.now()}
    )
    AnnotatorEvent.objects.create(
        annotator=annotator, event="profile", detail={"shown": profile.is_shown}
    )
    return profile


class ProfileForm(ParticipantForm):
    """Whether others may see the profile (off until ticked), and the annotator's own words."""

    text = forms.CharField(
        required=False,
        max_length=LONGEST_TEXT,
        error_messages={"max_length": _("Shorten what you wrote to 500 characters")},
    )
    show = forms.BooleanField(required=False)
    version = forms.CharField(required=False, max_length=64)

    @property
    def text_shown(self) -> str:
        """The annotator's text, as shown and stored."""
        text = self.data.get("text") if self.is_bound else self.initial.get("text")
        return storable(text or "")[:LONGEST_TEXT]

    @property
    def is_ticked(self) -> bool:
        return bool(self.data.get("show") if self.is_bound else self.initial.get("show"))

    @property
    def only_previews(self) -> bool:
        return self.data.get("do") == "preview"

    def agrees_to(self, profile: ShownProfile) -> bool:
        """Whether the form decides; nobody can agree to a profile that they have not seen."""
        if not self.is_valid():
            return False
        if not self.cleaned_data["show"]:
            return True
        if profile.is_empty:
            self.add_error("show", _("There is nothing to show. Write a few words, or untick this"))
        elif self.cleaned_data["version"] != profile.version:
            self.add_error("show", _("The profile has changed. Check it, then continue"))
        return not self.errors


@require_http_methods(["GET", "POST"])
@participant_page("feedback", after_end=True)
def profile(request: HttpRequest, annotator: Annotator) -> HttpResponse:
    """Show the exact profile that others would see, and ask; later, offer to withdraw consent."""
    decided = OwnProfile.objects.filter(annotator=annotator).first()
    if ending_of(annotator):
        return _after_the_end(request, annotator, decided)
    if not annotator.study.asks_own_answers:
        return see_other(step_url(annotator, "feedback"))
    if progress_of(annotator.pk).next_position is not None:
        return see_other(step_url(annotator, "task"))
    initial = {"text": decided.text, "show": decided.is_shown} if decided else {}
    form = ProfileForm(request.POST if request.method == "POST" else None, initial=initial)
    preview = shown_profile(annotator, form.text_shown)
    if form.is_bound and not form.only_previews and form.agrees_to(preview):
        decide_profile(
            annotator_id=annotator.pk,
            is_shown=form.cleaned_data["show"],
            text=preview.text,
            version=preview.version,
        )
        return see_other(step_url(annotator, "feedback"))
    status = REFUSED if form.errors else 200
    return render(
        request,
        "annotation/profile.html",
        profile_context(annotator.study, form, preview),
        status=status,
    )


def profile_context(study: Study, form: ProfileForm, profile: ShownProfile) -> dict[str, Any]:
    """The context of the page with a profile, also for its preview."""
    return {
        "study": study,
        "form": form,
        "shown": profile,
        "profile": profile.as_profile,
        "examples": study.show_history,
    }


def _after_the_end(
    request: HttpRequest, annotator: Annotator, decided: OwnProfile | None
) -> HttpResponse:
    """The profile as shown to others, with a button that removes it and no other changes."""
    if decided is None or annotator.state != Annotator.State.COMPLETED:
        return see_other(step_url(annotator))
    if request.method == "POST":
        decide_profile(annotator_id=annotator.pk, is_shown=False)
        return see_other(_address(annotator))
    context = {
        "study": annotator.study,
        "decided": decided,
        "profile": ShownProfile(decided.features, decided.text, []).as_profile,
        "continue_url": step_url(annotator),
    }
    return render(request, "annotation/profile_decided.html", context)


def _address(annotator: Annotator) -> str:
    return reverse("own_answers:profile", args=[annotator.study.slug])


def _first_at(annotator: Annotator) -> str:
    """The page's address, until somebody who answers for themselves has decided there."""
    if not annotator.study.asks_own_answers or hasattr(annotator, "own_profile"):
        return ""
    return _address(annotator)


def _preview(study: Study) -> dict[str, Any]:
    return profile_context(study, ProfileForm(), preview_profile(study))


def _shown_at_end(annotator: Annotator) -> Mapping[str, Any]:
    decided = annotator.study.asks_own_answers and hasattr(annotator, "own_profile")
    return {"address": _address(annotator)} if decided else {}


def _asks_own_answers(study: Study) -> bool:
    return study.asks_own_answers


STEP = AddedStep("profile", _("Your profile"), _asks_own_answers, _first_at, _preview)
NOTE = EndNote("profile", "annotation/endings/_own_profile.html", _shown_at_end)
