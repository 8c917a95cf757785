"""Linked studies, in which others predict the answers of people who allow it; their page."""

import random
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from hashlib import sha256
from typing import Any, cast

from django import forms
from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.contrib.auth.models import User
from django.core.exceptions import PermissionDenied
from django.db import transaction
from django.db.models import Count, Q
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_http_methods

from annotation.models import Annotator
from extras.own_answers.models import LaterWave, LinkedStudy, OwnProfile
from extras.own_answers.profiles import OwnAnswer, can_be_example, own_answers
from studies.errors import StudyError
from studies.exporters.items import raw_item
from studies.held_copies import HeldBy, HeldCopy, PersonIn
from studies.importers.files.faults import Faults, Refused
from studies.importers.items.item_fields import OWN_ANSWER
from studies.importers.items.records import CONTENT
from studies.importers.items.validation import Validator
from studies.media import keeper
from studies.models import Choice, Item, Membership, Persona, Study
from studies.pages.new_study_form import NewStudyForm
from studies.pages.responses import REFUSED
from studies.pages.settings_views import MAY_CREATE
from studies.personas import what_it_asks
from studies.selectors import get_study, studies_for
from studies.services.items import seat_items, study_content_hash
from studies.services.related_studies import AssociatedStudy
from studies.services.studies import create_study, lock_study, record
from studies.services.whole_studies import StudyContent
from studies.texts.normalisation import fold

DEFAULT_SEED = 20240701
_LONGEST_KEY = 90  # letters of an item's key that fit in front of a persona's name
# Settings that the linked study copies from the first. Its texts are about somebody else, so it has
# the standard instructions, consent and debriefing.
_KEPT = (
    *("task", "entry", "language", "contact", "researchers", "storage", "ethics", "currency"),
    "reward",
    *("criteria", "allow_tie", "tie_meaning", "ask_certainty", "certainty_control"),
    *("persona_style", "certainty_threshold", "equivalence_margin", "is_simulated", "minutes"),
    *("ai_policy", "source", "show_markdown", "allow_translation"),
)


@dataclass(frozen=True, kw_only=True)
class LinkRule:
    """What to draw: people, items of each, and how many of their other answers to show.

    None means all people, all their items, and as many examples as people agreed to.
    """

    persons: int | None = None
    items_per_person: int | None = None
    examples: int | None = None
    seed: int = DEFAULT_SEED


@dataclass(frozen=True)
class _Person:
    profile: OwnProfile
    answers: list[OwnAnswer]


@transaction.atomic
def link_study(
    *, first_id: int, slug: str, rule: LinkRule, title: str = "", by: User | None = None
) -> Study:
    """A draft about consenting people of a first-person study; labels are their own answers.

    With examples, an item shows other answers of the same person, never the one to itself
    (`profile_for`). Raises `StudyError` if nobody can be shown or the short name is taken.
    """
    first = lock_study(first_id)
    if not first.asks_own_answers:
        raise StudyError(
            f"In “{first.slug}”, people answer for somebody else. Only a study in which they "
            "answer for themselves can be linked."
        )
    examples = _examples(first, rule)
    there = _people(first)
    chosen = _drawn(there, rule.persons, rule.seed)
    if not chosen:
        raise StudyError(
            f"Nobody who completed “{first.slug}” allows others to see their profile, so there is "
            "nobody to predict."
        )
    study = create_study(
        slug=slug,
        title=title or f"{first.title}: predicted by others"[:200],
        owner=by,
        show_history=examples,
        **{name: getattr(first, name) for name in _KEPT},
    )
    keeper().copy(first, study)
    items = 0
    for person in chosen:
        own = _drawn(person.answers, rule.items_per_person, f"{rule.seed} {_name(person)}")
        items += _store(study, person, own, examples, rule.seed)
    keeper().forget_unused(study)
    seat_items(study)
    study.content_hash = study_content_hash(study)
    study.save(update_fields=["content_hash"])
    kept = asdict(rule) | {"examples": examples}
    LinkedStudy.objects.create(
        study=study, first=first, rule=kept | {"consenting": len(there), "items": items}
    )
    record(first, "linked study", user=by, linked=slug, persons=len(chosen), items=items)
    record(study, "linked to", user=by, first=first.slug, items=items, rule=kept)
    return study


def shown_people(first: Study) -> int:
    """How many annotators of a study can be shown to others now."""
    return _consenting(first).count()


def _consenting(first: Study) -> Any:
    return OwnProfile.objects.filter(
        is_shown=True,
        annotator__study=first,
        annotator__state=Annotator.State.COMPLETED,
        annotator__excluded_at=None,
        annotator__failed_attention=False,
    )


def _people(first: Study) -> list[_Person]:
    profiles = _consenting(first).select_related("annotator__study").order_by("persona_key")
    people = [_Person(profile, own_answers(profile.annotator)) for profile in profiles]
    return [person for person in people if person.answers]


def _examples(first: Study, rule: LinkRule) -> int:
    if rule.examples is None:
        return first.show_history
    if rule.examples > first.show_history:
        raise StudyError(
            f"People agreed that others see {first.show_history} of their answers, not "
            f"{rule.examples}. Use {first.show_history} examples or fewer."
        )
    return rule.examples


def _name(person: _Person) -> str:
    return person.profile.persona_key


def _drawn(rows: Sequence[Any], wanted: int | None, seed: object) -> list[Any]:
    """`wanted` of the `rows`, in their order; all if there are no more."""
    if wanted is None or wanted >= len(rows):
        return list(rows)
    rng = random.Random(str(seed))  # noqa: S311  for a sample that can be drawn again
    return [rows[place] for place in sorted(rng.sample(range(len(rows)), wanted))]


def _store(
    study: Study, person: _Person, own: Sequence[OwnAnswer], examples: int, seed: int
) -> int:
    """Store a persona and its items; return how many items."""
    history = examples_for(own, person.answers, examples, seed=f"{seed} {_name(person)} examples")
    about = {
        "id": _name(person),
        "features": person.profile.features,
        "text": person.profile.text or None,
        "history": history,
    }
    faults = Faults()
    validator = Validator(file="", task=study.task, faults=faults, media=keeper().stored(study))
    checked = [validator.item(1, _raw(answer, about)) for answer in own]
    if faults:
        raise Refused(faults)
    persona = Persona.objects.create(
        study=study,
        key=_name(person),
        features=about["features"],
        text=person.profile.text,
        history=history,
    )
    items = [
        Item(
            study=study,
            persona=persona,
            content_hash=item.content_hash,
            **{name: item.values[name] for name in CONTENT},
        )
        for item in checked
        if item is not None
    ]
    return len(Item.everything.bulk_create(items))


def _raw(answer: OwnAnswer, about: dict[str, Any]) -> dict[str, Any]:
    """An item about a person, labelled with their own answer."""
    item = answer.item
    raw = raw_item(item)
    raw.pop("advice", None)
    raw.pop("option_set", None)
    key = item.key if len(item.key) <= _LONGEST_KEY else sha256(item.key.encode()).hexdigest()
    return raw | {
        "id": f"{key}:{about['id']}",
        "group": item.group or key,
        "persona": about,
        "first_person": {
            "label": answer.choice,
            "tie": answer.choice == Choice.TIE,
            "source": "self_report",
            "label_confidence": None if answer.certainty is None else answer.certainty / 100,
        },
        "metadata": {OWN_ANSWER: {"item": item.key, "certainty": answer.certainty}},
    }


def examples_for(
    own: Sequence[OwnAnswer], answers: Sequence[OwnAnswer], examples: int, *, seed: str
) -> list[dict[str, str]]:
    """The fewest of a person's answers that give every item in `own` enough about something else.

    An item skips answers to its own question; the next ones replace them.
    """
    if not examples:
        return []
    possible = [answer.as_example for answer in answers if can_be_example(answer)]
    random.Random(seed).shuffle(possible)  # noqa: S311
    missing = [(what_it_asks(answer.item), examples) for answer in own]
    chosen = []
    for example in possible:
        if not missing:
            break
        chosen.append(example)
        about = fold(example["prompt"])
        left = [(asked, n - (about not in asked)) for asked, n in missing]
        missing = [(asked, n) for asked, n in left if n]
    return chosen


class LinkForm(NewStudyForm):
    """What is drawn, and the linked study."""

    persons = forms.IntegerField(
        label="Number of people",
        required=False,
        min_value=1,
        help_text="Drawn at random. Leave empty for all who allow it.",
    )
    items_per_person = forms.IntegerField(
        label="Items of each person",
        required=False,
        min_value=1,
        help_text="Drawn at random among those that they answered. Leave empty for all.",
    )
    examples = forms.IntegerField(label="Other answers shown as examples", min_value=0)
    seed = forms.IntegerField(
        label="Seed",
        min_value=0,
        max_value=2**53,
        initial=DEFAULT_SEED,
        help_text="The same seed draws the same people and items.",
    )

    def __init__(self, *args: object, study: Study, **kwargs: object) -> None:
        super().__init__(*args, **kwargs)  # type: ignore[arg-type]
        most = study.show_history
        self.fields["examples"].initial = most
        self.fields["examples"].help_text = (
            "Shown with each item, but never the answer to the item itself. People agreed to "
            f"{most}."
        )
        self.fields["slug"].initial = f"{study.slug[:50]}-predicted"

    def rule(self) -> LinkRule:
        names = ("persons", "items_per_person", "examples", "seed")
        return LinkRule(**{name: self.cleaned_data[name] for name in names})


@require_http_methods(["GET", "POST"])
@login_required
def linked(request: HttpRequest, slug: str) -> HttpResponse:
    """Show who can be predicted, and the linked studies; a POST creates another."""
    study = get_study(request.user, slug, role=Membership.Role.EDITOR)
    if not study.asks_own_answers:
        raise Http404("people in this study answer for somebody else")
    user = cast(User, request.user)
    if request.method == "POST" and not user.has_perm(MAY_CREATE):
        raise PermissionDenied
    form = LinkForm(request.POST if request.method == "POST" else None, study=study)
    if form.is_valid():
        with form.refusals():
            new = link_study(
                first_id=study.pk, slug=form.cleaned_data["slug"], rule=form.rule(), by=user
            )
            messages.success(request, "The new study is a draft with people’s own answers.")
            return redirect("studies:detail", new.slug)
    mine = studies_for(user).values("pk")
    context = {
        "study": study,
        "form": form,
        "completed": study.annotators.filter(state=Annotator.State.COMPLETED).count(),
        "shown": shown_people(study),
        "may_create": user.has_perm(MAY_CREATE),
        "linked": LinkedStudy.objects.filter(first=study, study__in=mine)
        .select_related("study")
        .annotate(people=Count("study__personas")),
    }
    status = REFUSED if form.errors else 200
    return render(request, "annotation/researcher/linked.html", context, status=status)


def related(study: Study) -> list[AssociatedStudy]:
    """The studies that predict the people of this one, and the one whose people it predicts."""
    links = LinkedStudy.objects.filter(Q(first=study) | Q(study=study))
    return [
        AssociatedStudy(link.study, "predicts its people")
        if link.first_id == study.pk
        else AssociatedStudy(link.first, "whose people it predicts")
        for link in links.select_related("study", "first").order_by("pk")
    ]


def content_of(study: Study) -> StudyContent:
    """Reasons not to delete a study."""
    linked = LinkedStudy.objects.filter(first=study).values_list("study__slug", flat=True)
    if not (slugs := ", ".join(f"“{slug}”" for slug in linked)):
        return StudyContent()
    return StudyContent(
        obstacles=[
            f"People of this study are shown in {slugs} and could no longer withdraw their consent "
            "to that. Delete these studies first."
        ]
    )


def _copies(person: PersonIn) -> Iterator[HeldCopy]:
    for link in LinkedStudy.objects.filter(first=person.study).select_related("study"):
        yield HeldCopy(
            f"linked {link.pk}",
            f"Study “{link.study.slug}”, made from this one",
            link.created_at,
            "A withdrawal or deletion removes their profile there, with all answers about it. Its "
            "own page of reports and exports marks what was made before.",
        )
    for wave in LaterWave.objects.filter(first=person.study).select_related("study"):
        yield HeldCopy(
            f"wave {wave.pk}",
            f"Study “{wave.study.slug}”, wave {wave.number} of this one",
            wave.created_at,
            f"If they took part there, it has answers of their own under the name {person.name}. "
            "Carry out the request there too. If not, a deletion here takes them off its list; on "
            "Prolific, remove them from its participant group. Reports of it compare the answers "
            "of both.",
        )


HELD = HeldBy("own_answers", copies=_copies)
