"""The page that makes a linked study of people who allow others to see them."""

from typing import cast

from django import forms
from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.contrib.auth.models import User
from django.core.exceptions import PermissionDenied, ValidationError
from django.db.models import Count
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_http_methods

from annotation.models import Annotator
from extras.own_answers.linked_studies import DEFAULT_SEED, LinkRule, link_study, shown_people
from extras.own_answers.models import LinkedStudy
from studies.errors import StudyError
from studies.models import Membership, Study
from studies.pages.settings_views import MAY_CREATE
from studies.selectors import get_study, studies_for

_REFUSED = 422


class LinkForm(forms.Form):
    """What is drawn, and the linked study."""

    slug = forms.SlugField(
        label="Short name of the new study",
        max_length=60,
        help_text="Letters, digits, - and _. It is part of its address.",
    )
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
        self.fields[
            "examples"
        ].help_text = (
            f"With each item, never the answer to the item itself. People agreed to {most}."
        )
        self.fields["slug"].initial = f"{study.slug[:50]}-predicted"

    def rule(self) -> LinkRule:
        names = ("persons", "items_per_person", "examples", "seed")
        return LinkRule(**{name: self.cleaned_data[name] for name in names})


@require_http_methods(["GET", "POST"])
@login_required
def linked(request: HttpRequest, slug: str) -> HttpResponse:
    """Show who can be predicted and the linked studies there are; a POST creates one more."""
    study = get_study(request.user, slug, role=Membership.Role.EDITOR)
    if not study.asks_own_answers:
        raise Http404("people of this study judge for somebody else")
    user = cast(User, request.user)
    if request.method == "POST" and not user.has_perm(MAY_CREATE):
        raise PermissionDenied
    form = LinkForm(request.POST if request.method == "POST" else None, study=study)
    if form.is_valid():
        try:
            made = link_study(
                first_id=study.pk, slug=form.cleaned_data["slug"], rule=form.rule(), by=user
            )
        except ValidationError as error:
            form.add_error("slug", " ".join(error.messages))
        except StudyError as error:
            form.add_error(None, str(error))
        else:
            messages.success(request, "The new study is a draft with the people’s own answers.")
            return redirect("studies:detail", made.slug)
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
    status = _REFUSED if form.errors else 200
    return render(request, "annotation/researcher/linked.html", context, status=status)
