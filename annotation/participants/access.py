"""The browser's annotator, the step that they may see, and their deadline."""

import datetime as dt
import math
import re
from collections.abc import Callable
from functools import cached_property, wraps
from typing import Any

from django.conf import settings
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.middleware.csrf import rotate_token
from django.shortcuts import get_object_or_404, render
from django.utils import translation

from annotation.content.consent_versions import with_agreed_terms
from annotation.errors import StudyNotOpen, Unfinished, WrongStep
from annotation.models import Annotator, Ending, ProlificIdentity
from annotation.participants.templates import address
from annotation.seats.assignment import is_doubtful
from annotation.seats.flow import ACTIVE, code_for, step_of, warning_time
from annotation.seats.item_statements import annotator_of
from annotation.services.endings import extensions_left
from annotation.services.identities import note_same_browser
from annotation.services.other_platforms import WayBack, is_on_prolific, way_back_of
from studies.models import Study
from studies.pages.signed_in import signed_in
from studies.selectors import studies_for
from studies.statements import clock


class Deadline:
    """The data of the time notice on every page, read only if a page shows it."""

    def __init__(self, annotator: Annotator, expires_at: dt.datetime) -> None:
        self.annotator = annotator
        self.expires_at = expires_at

    @cached_property
    def warns_at(self) -> dt.datetime:
        return self.expires_at - warning_time(self.annotator.study)

    @cached_property
    def is_near(self) -> bool:
        return clock.now() >= self.warns_at

    @property
    def warns_in(self) -> int:
        """Seconds from now, because device clocks cannot be trusted; 0 when the warning is due."""
        return max(0, math.ceil((self.warns_at - clock.now()).total_seconds()))

    @property
    def minutes(self) -> int:
        """Whole minutes from now, for browsers that cannot say what time it is then."""
        return max(1, int((self.expires_at - clock.now()).total_seconds() // 60))

    @property
    def iso(self) -> str:
        return self.expires_at.astimezone(dt.UTC).isoformat()

    @property
    def is_on_prolific(self) -> bool:
        """Whether Prolific shows a limit too; far from it, the study's own entry is enough."""
        if not self.is_near:
            return bool(self.annotator.study.entry == Study.Entry.PROLIFIC)
        return is_on_prolific(self.annotator)

    @property
    def may_extend(self) -> bool:
        """Whether the annotator may ask for more time; nothing is read far from the limit."""
        return not self.is_near or extensions_left(self.annotator) > 0

    def as_json(self) -> dict[str, Any]:
        return {"ends": self.iso, "warns_in": self.warns_in}


def deadline_of(annotator: Annotator) -> Deadline | None:
    """The annotator's deadline; None when their part is over or has no limit."""
    if annotator.state not in ACTIVE or annotator.expires_at is None:
        return None
    return Deadline(annotator, annotator.expires_at)


# The order of the steps. An annotator's state skips steps that the study does not have.
ORDER = ("consent", "about", "instructions", "quiz", "practice", "task", "feedback", "done")

# Steps that wait until an amended consent is agreed to; after the last item nobody is asked.
_ASKED = ("about", "instructions", "quiz", "practice", "task")
_PLATFORM = "https://app.prolific.com/submissions/complete"
_SALT = "annotation.participant"
# Headers with the purpose of a request, and the purposes without a followed link.
_PURPOSES = ("Sec-Purpose", "Purpose", "X-Purpose", "X-Moz")
_AHEAD = re.compile("prefetch|prerender|preview", re.IGNORECASE)
_KEPT_FOR = 60 * 24 * 3600


def bind(request: HttpRequest, response: HttpResponse, annotator: Annotator) -> HttpResponse:
    """Bind this browser to the annotator, for this study only.

    If the browser's annotator changes, it gets a new CSRF secret, and the log of both says so; for
    the same annotator, forms that are open in other tabs remain valid.
    """
    slug = annotator.study.slug
    if not is_bound(request, annotator):
        rotate_token(request)
        if other := _bound_id(request, slug):
            note_same_browser(annotator_id=annotator.pk, other_id=other)
    response.set_signed_cookie(
        _cookie(slug),
        str(annotator.pk),
        salt=_SALT,
        max_age=_KEPT_FOR,
        # The prefix `__Host-` requires the whole host as scope, so the name contains the study.
        path="/" if settings.SESSION_COOKIE_SECURE else address("annotation:entry", slug),
        secure=settings.SESSION_COOKIE_SECURE,
        httponly=True,
        samesite="Lax",
    )
    return response


def _cookie(slug: str) -> str:
    """The name of a study's cookie; over HTTPS browsers accept it only from this host."""
    return f"{'__Host-' if settings.SESSION_COOKIE_SECURE else ''}participant-{slug}"


def _bound_id(request: HttpRequest, slug: str) -> int | None:
    """The annotator of the cookie, whose signature is checked once per request."""
    read: dict[str, int | None] = request.__dict__.setdefault("_participants", {})
    if slug not in read:
        # The second name is that of the cookie before the site used HTTPS, so that nobody loses
        # their part.
        names = (_cookie(slug), f"participant-{slug}")
        values = (
            request.get_signed_cookie(name, None, salt=_SALT, max_age=_KEPT_FOR) for name in names
        )
        read[slug] = next((int(value) for value in values if value), None)
    return read[slug]


def is_bound(request: HttpRequest, annotator: Annotator) -> bool:
    """Whether this browser is already bound to the annotator."""
    return _bound_id(request, annotator.study.slug) == annotator.pk


def find_annotator(request: HttpRequest, slug: str) -> Annotator | None:
    """The annotator of study `slug` to whom this browser is bound."""
    annotator_id = _bound_id(request, slug)
    if annotator_id is None:
        return None
    return annotator_of(slug, annotator_id)


def is_opened(request: HttpRequest) -> bool:
    """Whether a person opens the page, as far as the browser says so.

    False if it prefetches or prerenders a link that nobody has followed, or loads it as a picture,
    a frame or a script's request. Browsers that do not say count as opened.
    """
    purposes = (request.headers.get(name, "") for name in _PURPOSES)
    destination = request.headers.get("Sec-Fetch-Dest", "document")
    return destination == "document" and not any(map(_AHEAD.search, purposes))


def may_preview(request: HttpRequest, study: Study) -> bool:
    """Whether a researcher of the study is signed in here."""
    user = signed_in(request)
    return user.is_authenticated and studies_for(user).filter(pk=study.pk).exists()


def step_url(annotator: Annotator, step: str = "") -> str:
    """The address of `step`, by default of the annotator's current step."""
    return address(f"annotation:{step or step_of(annotator)}", annotator.study.slug)


def _uncached(view: Callable[..., HttpResponse]) -> Callable[..., HttpResponse]:
    """Make browsers ask again each time: Django's `never_cache` without the date for HTTP/1.0."""

    @wraps(view)
    def wrapper(*args: object, **kwargs: object) -> HttpResponse:
        response = view(*args, **kwargs)
        response.headers["Cache-Control"] = (
            "max-age=0, no-cache, no-store, must-revalidate, private"
        )
        return response

    return wrapper


def _study_for(request: HttpRequest, slug: str) -> Study:
    """The study of a page for somebody unknown, without what a draft says."""
    study = get_object_or_404(Study, slug=slug)
    if study.state == Study.State.DRAFT and not may_preview(request, study):
        study.title = study.contact = ""
    return study


def study_page(view: Callable[..., HttpResponse]) -> Callable[..., HttpResponse]:
    """Load the study for `view(request, study)` and use its language, not the browser's."""

    @wraps(view)
    def wrapper(request: HttpRequest, slug: str, **kwargs: object) -> HttpResponse:
        study = _study_for(request, slug)
        with translation.override(study.page_language):
            return view(request, study, **kwargs)

    return _uncached(wrapper)


def participant_page(
    step: str,
    *,
    after_end: bool = False,
    identify: Callable[[HttpRequest, str], Annotator | None] = find_annotator,
) -> Callable[..., Callable[..., HttpResponse]]:
    """Call `view(request, annotator)` if the annotator has reached `step`.

    Without an annotator: the help page. Ahead of their step, or if a service refuses the step: a
    redirect to their current step. After the end: their ending page, unless `after_end` is set. In
    a closed study: the page that says so.
    """

    def decorate(view: Callable[..., HttpResponse]) -> Callable[..., HttpResponse]:
        @wraps(view)
        def wrapper(request: HttpRequest, slug: str, **kwargs: object) -> HttpResponse:
            annotator = identify(request, slug)
            if annotator is None:
                study = _study_for(request, slug)
                return no_identity(request, study, is_first_page=False)
            with translation.override(annotator.study.page_language):
                with_agreed_terms(annotator)
                request.deadline = deadline_of(annotator)  # type: ignore[attr-defined]
                try:
                    return guard(request, annotator) or view(request, annotator, **kwargs)
                except StudyNotOpen:
                    return closed(request, annotator.study, annotator)
                except (WrongStep, Unfinished):
                    # Another tab, the platform or the clock changed the step: show the current one.
                    annotator.refresh_from_db(fields=["state"])
                    return see_other(step_url(annotator))

        def guard(request: HttpRequest, annotator: Annotator) -> HttpResponse | None:
            now = step_of(annotator)
            ended = now == "done"
            # "feedback" belongs to the state "task": its view knows whether items are left.
            reached = "feedback" if now == "task" else now
            if (ended and not after_end) or ORDER.index(step) > ORDER.index(reached):
                return see_other(step_url(annotator))
            if not ended and annotator.study.state == Study.State.CLOSED:
                return closed(request, annotator.study, annotator)
            # An answer that was just given is stored before they are asked.
            is_answer = step == "task" and request.method == "POST"
            if annotator.consent_due and not ended and step in _ASKED and not is_answer:
                return see_other(step_url(annotator, "consent"))
            return None

        return _uncached(wrapper)

    return decorate


def see_other(url: str) -> HttpResponse:
    """Redirect to `url` by GET, whatever the browser."""
    response = HttpResponseRedirect(url)
    response.status_code = 303
    return response


def parameters_of(request: HttpRequest) -> dict[str, str]:
    """The parameters of a link, without the blanks that links typed or pasted by hand have."""
    return {name: value.strip() for name, value in request.GET.dict().items()}


def no_identity(
    request: HttpRequest,
    study: Study,
    *,
    is_first_page: bool = True,
    is_other_device: bool = False,
    wait: int = 0,
) -> HttpResponse:
    """Explain how to enter the study.

    On the first page, neither cookie nor link had a usable id, and nothing was stored. Later pages
    need the cookie: if it is missing, it is most likely blocked. `is_other_device`: the id began in
    another browser; `wait`: minutes until a start is possible.
    """
    context = {
        "study": study,
        "is_first_page": is_first_page and study.entry != Study.Entry.LINK,
        "preview_offered": may_preview(request, study),
        "is_other_device": is_other_device,
        "wait": wait,
        # Some began by an open link before the study changed how people enter.
        "has_codes": study.annotators.exclude(resume_code=None).exists(),
    }
    status = 429 if wait else 403 if is_other_device else 400
    with translation.override(study.page_language):
        response = render(request, "annotation/endings/no_id.html", context, status=status)
    if wait:
        response.headers["Retry-After"] = str(60 * wait)
    return response


def closed(
    request: HttpRequest,
    study: Study,
    annotator: Annotator | None = None,
    *,
    way_back: WayBack | None = None,
) -> HttpResponse:
    """Say that the study is closed; an annotator who had started gets this ending's code.

    `way_back` is that of somebody who has not started.
    """
    template = {Study.State.CLOSED: "closed", Study.State.PAUSED: "paused"}.get(
        Study.State(study.state), "not_open"
    )
    waits = annotator is not None and is_doubtful(annotator)
    gets_code = annotator is not None and not waits
    code = code_for(study_id=study.pk, ending=Ending.CLOSED) if gets_code else ""
    context = {
        "study": study,
        "annotator": annotator,
        "waits": waits,
        **code_context(study, code, annotator, Ending.CLOSED, way_back=way_back),
    }
    response = render(request, f"annotation/endings/{template}.html", context, status=403)
    return with_way_back(response, context["way_back"])


def took_part(
    request: HttpRequest, study: Study, *, way_back: WayBack | None = None
) -> HttpResponse:
    """Say that annotators of a related study cannot take part, and how to return the place."""
    code = code_for(study_id=study.pk, ending=Ending.INELIGIBLE)
    context = {"study": study, **code_context(study, code, way_back=way_back)}
    response = render(request, "annotation/endings/ineligible.html", context, status=403)
    return with_way_back(response, way_back)


def code_context(
    study: Study,
    code: str,
    annotator: Annotator | None = None,
    ending: Ending | None = None,
    *,
    way_back: WayBack | None = None,
) -> dict[str, Any]:
    """A completion code, and the platform address where it is entered.

    An annotator who came from Prolific enters it there, however others enter now. One whom another
    platform sent goes back there after the `ending`.
    """
    if annotator and ending and way_back is None:
        way_back = way_back_of(annotator, ending)
    if way_back is not None:
        return {"code": way_back.code, "platform_url": "", "way_back": way_back}
    on_platform = code and (
        study.entry == Study.Entry.PROLIFIC
        or ProlificIdentity.objects.filter(annotator=annotator).exclude(study_id="").exists()
    )
    return {
        "code": code,
        "platform_url": f"{_PLATFORM}?cc={code}" if on_platform else "",
        "way_back": None,
    }


def with_way_back(response: HttpResponse, way_back: WayBack | None) -> HttpResponse:
    """Let the page send a form to the platform, if that is the way back."""
    if way_back is not None and way_back.form_hosts:
        hosts = " ".join(f"https://{host}" for host in way_back.form_hosts)
        response.policy_changes = {  # type: ignore[attr-defined]
            "form-action": f"'self' {hosts}"
        }
    return response
