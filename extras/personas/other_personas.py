"""A linked study that asks items a second time about another persona of the study, and its page."""

import random
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any, cast

from django import forms
from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.contrib.auth.models import User
from django.core.exceptions import PermissionDenied
from django.db import transaction
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_http_methods

from extras.personas.changed_items import changeable_features
from extras.personas.signal_sizes import seen_by, sizes
from studies.errors import StudyError
from studies.exporters.items import raw_item
from studies.importers.items.twins import key_with, store_twin
from studies.media import keeper
from studies.models import Item, Membership, Persona, Study
from studies.pages.new_study_form import NewStudyForm
from studies.pages.responses import REFUSED
from studies.pages.settings_views import MAY_CREATE
from studies.selectors import get_study, studies_for
from studies.services.items import seat_items, study_content_hash
from studies.services.related_studies import KindOfCopy
from studies.services.studies import record
from studies.services.whole_studies import copy_study

SOURCE = "persona_signal"  # the key in a study's source, and in the notes of twins
COPIES = KindOfCopy(SOURCE, "with other personas", "whose personas it exchanges")
MARK = ":other-persona"  # after the key of an item, in that of its twin
SEED = 20240701
AT_ONCE = 5  # personas of a question that are drawn before more of it
TRIES = 50  # of an exchange at random, before all others are tried

Pair = tuple[Item, Item]  # an item, and one about the persona that its twin gets


@dataclass(frozen=True, kw_only=True)
class WantedSignal:
    """What to draw: how many items, and features in which both personas must differ.

    None means all items. Without features, it is enough that the profiles are not the same.
    """

    items: int | None = None
    differ_in: Sequence[str] = ()
    seed: int = SEED


@dataclass(frozen=True)
class SignalPlan:
    """The drawn items with their other personas, and how many items found none."""

    pairs: Sequence[Pair]
    left_out: int
    within_question: int


def planned_signal(study: Study, wanted: WantedSignal) -> SignalPlan:
    """Draw the items and exchange their personas. Raises `StudyError` if none can be exchanged."""
    if study.asks_own_answers:
        raise StudyError(
            f"In “{study.slug}”, people answer for themselves, so there is no persona to exchange."
        )
    if SOURCE in study.source:
        raise StudyError(
            "This study already asks items about other personas. Start from "
            f"“{study.source[SOURCE]['from']}”."
        )
    unknown = [feature for feature in wanted.differ_in if feature not in changeable_features(study)]
    if unknown:
        raise StudyError(
            f"No two personas differ in “{unknown[0]}”. Choose a feature with two values or more."
        )
    rng = random.Random(wanted.seed)  # noqa: S311  for a sample that can be drawn again
    drawn = _drawn(_candidates(study), wanted.items, rng)
    pairs, alone, within = list[Pair](), list[Item](), 0
    for items in _by_question(drawn).values():
        partners = list(exchanged(items, _may_exchange(wanted), rng))
        within += sum(other is not None for _, other in partners)
        pairs += [(item, other) for item, other in partners if other is not None]
        alone += [item for item, other in partners if other is None]
    left = list(exchanged(alone, _may_exchange(wanted), rng))
    pairs += [(item, other) for item, other in left if other is not None]
    if not pairs:
        words = f" in {', '.join(wanted.differ_in)}" if wanted.differ_in else ""
        raise StudyError(
            f"No item can get another persona, because none of the drawn ones differ{words}. "
            "Use more items or other features."
        )
    pairs.sort(key=lambda pair: pair[0].key)
    return SignalPlan(pairs, len(drawn) - len(pairs), within)


def _candidates(study: Study) -> list[Item]:
    """Items with a known own answer; if none has one, all items."""
    items = Item.objects.filter(study=study, option_set={}).select_related("persona")
    every = list(items.order_by("key"))
    return [item for item in every if item.first_person] or every


def _by_question(items: Sequence[Item]) -> dict[tuple[str, ...], list[Item]]:
    """Items with the same question and the same two responses, in whatever order."""
    by_question = defaultdict(list)
    for item in items:
        texts = sorted(str(item.response(key).get("text")) for key in ("r1", "r2"))
        by_question[(item.question, item.context, *texts)].append(item)
    return by_question


def _drawn(items: Sequence[Item], n: int | None, rng: random.Random) -> list[Item]:
    """`n` items at random, with five personas of a question where it has them."""
    blocks = []
    for same in _by_question(items).values():
        rng.shuffle(same)
        blocks += [
            (start, rng.random(), same[start : start + AT_ONCE])
            for start in range(0, len(same), AT_ONCE)
        ]
    blocks.sort(key=lambda block: block[:2])
    return list(chain.from_iterable(block for *_, block in blocks))[:n]


def _may_exchange(wanted: WantedSignal) -> Callable[[Item, Item], bool]:
    """Whether an item can be asked about the persona of another item."""

    def differ(one: Item, two: Item) -> bool:
        mine, other = one.persona, two.persona
        if wanted.differ_in:
            values = [
                {feature["key"]: str(feature["value"]) for feature in persona.features}
                for persona in (mine, other)
            ]
            return all(values[0].get(key) != values[1].get(key) for key in wanted.differ_in)
        contents = [(side.features, side.text, side.history) for side in (mine, other)]
        return mine.pk != other.pk and contents[0] != contents[1]

    return differ


def exchanged(
    items: Sequence[Item], may: Callable[[Item, Item], bool], rng: random.Random
) -> Iterator[tuple[Item, Item | None]]:
    """Give each item the persona of another; each is used once. None if no other fits."""
    n = len(items)
    order = rng.sample(range(n), n)

    def fits(one: int, two: int) -> bool:
        return may(items[one], items[order[two]]) and may(items[two], items[order[one]])

    for place in range(n):
        if not may(items[place], items[order[place]]):
            tries = (rng.randrange(n) for _ in range(TRIES))
            partner = next(
                (candidate for candidate in chain(tries, range(n)) if fits(place, candidate)), None
            )
            if partner is not None:
                order[place], order[partner] = order[partner], order[place]
    for item, other in zip(items, order, strict=True):
        yield item, items[other] if may(item, items[other]) else None


@transaction.atomic
def signal_study(
    *, study_id: int, slug: str, wanted: WantedSignal, title: str = "", by: User | None = None
) -> Study:
    """Create a draft with drawn items of a study, and each again about another persona.

    The twin has no own answer; the report scores it by that of its item. Both are in one group, so
    that nobody gets them one after the other where this can be avoided. Raises `StudyError` as
    `planned_signal`, or if the short name is taken.
    """
    study = Study.objects.get(pk=study_id)
    plan = planned_signal(study, wanted)
    copy = copy_study(
        study_id=study.pk,
        slug=slug,
        title=title or f"{study.title}: other personas"[:200],
        with_items=True,
        only={item.key: {} for item, _ in plan.pairs},
        by=by,
        human_sample=None,
    )
    personas = {persona.key: persona for persona in Persona.objects.filter(study=copy)}
    items = {item.key: item for item in Item.objects.filter(study=copy).select_related("persona")}
    media = keeper().stored(copy)
    for item, other in plan.pairs:
        raw = raw_item(items[item.key])
        group = raw["group"] or item.key
        items[item.key].delete()
        store_twin(copy, raw | {"group": group}, personas, media)
        twin = {
            "id": key_with(item.key, MARK),
            "group": group,
            "persona": raw_item(other)["persona"],
            "first_person": {"label": None, "tie": False, "source": "unknown"},
            "metadata": raw["metadata"] | {SOURCE: {"item": item.key}},
        }
        store_twin(copy, raw | twin, personas, media)
    drawn = {"items": len(plan.pairs), "left_out": plan.left_out, "seed": wanted.seed}
    rule = {"differ_in": list(wanted.differ_in), "within_question": plan.within_question}
    copy.source = copy.source | {SOURCE: {"from": study.slug, "mark": MARK} | drawn | rule}
    seat_items(copy)
    copy.content_hash = study_content_hash(copy)
    copy.save(update_fields=["source", "content_hash"])
    record(copy, "persona signal", user=by, of=study.slug, **drawn, **rule)
    return copy


_SHOWN = 3
_USUAL_ITEMS = 300


class OtherPersonasForm(NewStudyForm):
    """What to draw, and the linked study."""

    items = forms.IntegerField(
        label="Number of items",
        min_value=2,
        help_text="Drawn at random. Each is asked twice.",
    )
    differ_in = forms.MultipleChoiceField(
        label="Attributes that must differ",
        required=False,
        widget=forms.CheckboxSelectMultiple,
        help_text="Choose what decides the answer. Without a choice, any other profile will do.",
    )
    seed = forms.IntegerField(
        label="Seed",
        min_value=0,
        max_value=2**53,
        initial=SEED,
        help_text="The same seed draws the same items and personas.",
    )

    def __init__(self, *args: Any, study: Study, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        known = changeable_features(study)
        choices = [(key, f"{label} ({n:,} values)") for key, (label, n) in known.items()]
        cast(forms.MultipleChoiceField, self.fields["differ_in"]).choices = choices
        n = Item.objects.filter(study=study).count()
        self.initial = {"slug": f"{study.slug[:52]}-others", "items": min(n, _USUAL_ITEMS)}

    def wanted(self) -> WantedSignal:
        names = ("items", "differ_in", "seed")
        return WantedSignal(**{name: self.cleaned_data[name] for name in names})


@require_http_methods(["GET", "POST"])
@login_required
def other_personas(request: HttpRequest, slug: str) -> HttpResponse:
    """Show the form; a POST shows some twins and the size, or creates the linked study."""
    study = get_study(request.user, slug, role=Membership.Role.EDITOR)
    user = cast(User, request.user)
    if request.method == "GET":
        return _page(request, study, OtherPersonasForm(study=study))
    if not user.has_perm(MAY_CREATE):
        raise PermissionDenied
    form = OtherPersonasForm(request.POST, study=study)
    if form.is_valid():
        with form.refusals():
            if "preview" in request.POST:
                return _page(request, study, form, planned_signal(study, form.wanted()))
            new = signal_study(
                study_id=study.pk, slug=form.cleaned_data["slug"], wanted=form.wanted(), by=user
            )
            messages.success(request, "The new study is a draft with each item and its twin.")
            return redirect("studies:detail", new.slug)
    return _page(request, study, form, status=REFUSED)


def _page(
    request: HttpRequest,
    study: Study,
    form: OtherPersonasForm,
    plan: SignalPlan | None = None,
    *,
    status: int = 200,
) -> HttpResponse:
    context: dict[str, Any] = {
        "study": study,
        "form": form,
        "sizes": sizes(study.annotations_per_item),
        "may_create": cast(User, request.user).has_perm(MAY_CREATE),
        "linked": studies_for(cast(User, request.user)).filter(
            source__persona_signal__from=study.slug
        ),
    }
    if plan is not None:
        n = len(plan.pairs)
        context["plan"] = {
            "items": n,
            "left_out": plan.left_out,
            "answers": 2 * n * study.annotations_per_item,
            "shown": plan.pairs[:_SHOWN],
            "sees": seen_by(n, study.annotations_per_item),
        }
    return render(request, "personas/other_personas.html", context, status=status)
