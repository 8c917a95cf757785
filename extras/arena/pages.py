"""The researchers' pages of an arena: the ranking as it is now, and what it needs."""

from typing import Any, cast

from django import forms
from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.contrib.auth.models import User
from django.core.exceptions import ValidationError
from django.db.models import Count
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.http import require_GET, require_http_methods

from analysis.report.words import decimal, decimal_range, percent, percent_range, reason
from extras.arena.asking import ASKED, PERSON
from extras.arena.models import LONGEST, Arena, ArenaPair
from extras.arena.questions import add_questions, read_questions, rows_of_study
from extras.arena.seats import arena_of
from extras.arena.setup import (
    LIMITS,
    open_arena,
    pause_arena,
    set_up,
    settings_of,
    why_not_open,
)
from judging.errors import JudgingError
from judging.models import Judge
from judging.pages.asking_forms import budget_field, offer_judges
from studies.errors import StudyError
from studies.importers.files.bundle import File
from studies.importers.files.faults import Refused
from studies.models import Membership, Study
from studies.pages.listing import role_of
from studies.pages.responses import REFUSED
from studies.pages.workbench import SectionPage
from studies.selectors import get_study, studies_for

_REFRESH_SECONDS = 30
_MOST_REASONS = 5


class ArenaForm(forms.Form):
    """The systems of an arena, its budget and its limits."""

    systems = forms.ModelMultipleChoiceField(
        queryset=Judge.objects.none(),
        label="Systems",
        widget=forms.CheckboxSelectMultiple,
        help_text="At least two judges that can write. People never see their names.",
    )
    budget = budget_field("For everything that the arena ever asks. Without one, it does not open.")
    stock = forms.IntegerField(
        label="Pairs written ahead",
        min_value=1,
        max_value=500,
        help_text="At least as many as the items of one annotator.",
    )
    per_hour = forms.IntegerField(label="New pairs an hour at most", min_value=1, max_value=100_000)
    longest = forms.IntegerField(
        label="Characters of a response at most", min_value=100, max_value=LONGEST
    )
    forbidden = forms.CharField(
        label="Phrases that no response may have",
        required=False,
        widget=forms.Textarea(attrs={"rows": 3}),
        help_text="One a line. Refusals are left out anyway.",
    )
    show_persona = forms.BooleanField(label="Systems see the persona", required=False)

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        offer_judges(self, "systems")


class ArenaQuestionsForm(forms.Form):
    """A file with personas and questions, or a study whose items have them."""

    file = forms.FileField(
        required=False,
        label="File with personas and questions",
        help_text="CSV with the columns persona, question and perhaps topic, or JSON Lines.",
    )
    study = forms.ModelChoiceField(
        queryset=Study.objects.none(),
        required=False,
        label="Or the personas and questions of a study’s items",
        to_field_name="slug",
        empty_label="Choose a study",
    )

    def __init__(self, *args: Any, user: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        field = cast(forms.ModelChoiceField, self.fields["study"])
        field.queryset = studies_for(user)

    def clean(self) -> dict[str, Any]:
        cleaned = super().clean() or {}
        if bool(cleaned.get("file")) == bool(cleaned.get("study")):
            raise ValidationError("Choose a file or a study, one of them.")
        return cleaned


@login_required
@require_GET
def arena_page(request: HttpRequest, slug: str) -> HttpResponse:
    """The ranking as it is now; a live one is shown again by itself."""
    study = get_study(request.user, slug)
    arena = arena_of(study)
    context: dict[str, Any] = {"study": study, "arena": arena}
    if arena is not None:
        from extras.arena.ranking import live_ranking

        ranking = live_ranking(arena)
        context |= {
            "found": ranking,
            "rows": [_shown(entry) for entry in ranking["ranking"]],
            "problem": "" if arena.is_live else why_not_open(arena),
            "questions": arena.questions.count(),
            "dropped": arena.pairs.filter(state=ArenaPair.State.DROPPED)
            .values_list("problem")
            .annotate(number=Count("pk"))
            .order_by("-number", "problem")[:_MOST_REASONS],
            "link": request.build_absolute_uri(reverse("annotation:entry", args=[slug])),
        }
    context["may_edit"] = role_of(request.user, study) != Membership.Role.VIEWER
    response = render(request, "arena/arena.html", context)
    if arena is not None and arena.is_live:
        response.headers["Refresh"] = str(_REFRESH_SECONDS)
    return response


def _shown(entry: dict[str, Any]) -> dict[str, Any]:
    """A row of the ranking in words."""
    place = ""
    if entry["best"] is not None:
        both = entry["best"], entry["worst"]
        place = str(both[0]) if both[0] == both[1] else f"{both[0]}–{both[1]}"
    why = entry.get("strength_reason") or entry.get("strength_ci_reason")
    return {
        **entry,
        "place": place,
        "why": reason(why) if why else "",
        "strength_words": decimal(entry["strength"], 2),
        "strength_range": decimal_range(entry["strength_ci"], 2),
        "rate_words": percent(entry["rate"]),
        "rate_range": percent_range(entry["rate_ci"]),
    }


@login_required
@require_http_methods(["GET", "POST"])
def arena_settings(request: HttpRequest, slug: str) -> HttpResponse:
    """Systems, budget and limits."""
    study = _editable(request, slug)
    arena = arena_of(study)
    initial = settings_of(arena) if arena else {name: getattr(Arena(), name) for name in LIMITS}
    if arena:
        chosen = arena.systems.filter(is_out=False).values_list("judge", flat=True)
        initial |= {"systems": list(chosen), "budget": arena.budget}
    form = ArenaForm(request.POST or None, initial=initial)
    if form.is_valid():
        values = dict(form.cleaned_data)
        systems = list(values.pop("systems"))
        try:
            set_up(study_id=study.pk, systems=systems, user=cast(User, request.user), **values)
        except ValidationError as error:
            form.add_error(None, " ".join(error.messages))
        except (StudyError, JudgingError) as error:
            form.add_error(None, str(error))
        else:
            messages.success(request, "Settings of the arena saved.")
            return redirect("arena:arena", slug)
    asked = ASKED.format(persona=PERSON, words="…", question="{question}")
    context = {"study": study, "form": form, "arena": arena, "asked": asked}
    return render(request, "arena/settings.html", context, status=REFUSED if form.errors else 200)


@login_required
@require_http_methods(["GET", "POST"])
def questions(request: HttpRequest, slug: str) -> HttpResponse:
    """Add personas and questions."""
    study = _editable(request, slug)
    arena = arena_of(study)
    if arena is None:
        return redirect("arena:settings", slug)
    form = ArenaQuestionsForm(request.POST or None, request.FILES or None, user=request.user)
    faults: list[Any] = []
    if form.is_valid():
        upload, source = form.cleaned_data["file"], form.cleaned_data["study"]
        try:
            rows = (
                read_questions(File(upload.name, upload.read()))
                if upload
                else rows_of_study(source)
            )
            added = add_questions(arena=arena, rows=rows, user=cast(User, request.user))
        except Refused as error:
            form.add_error(None, f"Nothing was added: {len(error.faults):,} faults.")
            faults = list(error.faults)[:20]
        except StudyError as error:
            form.add_error(None, str(error))
        else:
            messages.success(request, f"{added:,} questions added.")
            return redirect("arena:arena", slug)
    context = {
        "study": study,
        "form": form,
        "faults": faults,
        "examples": arena.questions.select_related("persona")[:5],
        "count": arena.questions.count(),
    }
    return render(request, "arena/questions.html", context, status=REFUSED if form.errors else 200)


@login_required
@require_http_methods(["POST"])
def set_live(request: HttpRequest, slug: str) -> HttpResponse:
    """Open or pause the arena, and the study with it."""
    study, user = _editable(request, slug), cast(User, request.user)
    arena = arena_of(study)
    if arena is None:
        return redirect("arena:settings", slug)
    try:
        if "open" in request.POST:
            reason_given = request.POST.get("reason", "").strip()
            open_arena(arena=arena, user=user, reason=reason_given)
            messages.success(request, "The arena is open.")
        else:
            pause_arena(arena=arena, user=user)
            messages.success(request, "The arena is paused. Who has items can finish them.")
    except StudyError as error:
        messages.error(request, str(error))
    return redirect("arena:arena", slug)


def _editable(request: HttpRequest, slug: str) -> Study:
    return get_study(request.user, slug, role=Membership.Role.EDITOR)


def pages(study: Study) -> list[SectionPage]:
    return [SectionPage("items", "Arena", reverse("arena:arena", args=[study.slug]))]
