"""Every address of the site."""

from django.contrib import admin
from django.contrib.auth import views as auth
from django.urls import include, path, register_converter
from django.views.decorators.csrf import csrf_exempt
from django.views.generic import RedirectView

from studies.extra import addresses
from studies.pages import urls as study_urls
from studies.pages.addressed import FormOfPage, view

register_converter(FormOfPage, "form")

# The page of an item shows what all apps know about it, so it cannot be in `studies`.
_STUDIES = [
    *study_urls.urlpatterns,
    path(
        "<slug:slug>/items/<str:key>/", view("analysis.pages.disagreement_views:item"), name="item"
    ),
]

urlpatterns = [
    # First, because most requests are for these and patterns are tried in order.
    path("s/<slug:slug>/", include("annotation.participants.urls")),
    path("", RedirectView.as_view(pattern_name="studies:list"), name="home"),
    path("healthz", view("config.health:healthz"), name="healthz"),
    path("accounts/login/", view("studies.pages.accounts.views:sign_in"), name="login"),
    path(
        "accounts/first/",
        view("studies.pages.accounts.views:make_first_account"),
        name="first-account",
    ),
    path("accounts/logout/", auth.LogoutView.as_view(), name="logout"),
    path(
        "accounts/tokens/",
        view(
            "studies.pages.accounts.credential_views:tokens",
            delete="delete_token",
        ),
        name="tokens",
    ),
    path(
        "accounts/end-all/",
        view("studies.pages.accounts.credential_views:end_everything"),
        name="end-all",
    ),
    path("invitation/", view("studies.pages.accounts.views:invitation"), name="invitation"),
    path(
        "accounts/second-step/",
        view("studies.pages.accounts.credential_views:second_step", off="switch_off"),
        name="second-step",
    ),
    path(
        "accounts/password/",
        view("studies.pages.accounts.views:change_password"),
        name="password_change",
    ),
    path(
        "accounts/password/reset/",
        view("studies.pages.accounts.views:reset_password"),
        name="password_reset",
    ),
    path(
        "accounts/password/new/<uidb64>/<token>/",
        view("studies.pages.accounts.views:new_password"),
        name="password_reset_confirm",
    ),
    # The admin's own pages would check passwords without limits or a second step.
    path("admin/login/", RedirectView.as_view(pattern_name="login", query_string=True)),
    path("admin/password_change/", RedirectView.as_view(pattern_name="password_change")),
    path("admin/", admin.site.urls),
    path("studies/", include((_STUDIES, study_urls.app_name))),
    path("studies/<slug:slug>/people/", include("annotation.researchers.urls")),
    path("studies/<slug:slug>/judges/", include("judging.pages.urls")),
    path("", include("analysis.pages.urls")),
    # Prolific's server has no CSRF token; a signature protects this view. The API reads no cookies.
    path(
        "prolific/webhook/",
        csrf_exempt(view("annotation.prolific.pages.views:webhook")),
        name="prolific-webhook",
    ),
    path("api/v1/<path:route>", csrf_exempt(view("api.gateway:gateway")), name="api"),
    # Last, since it looks whether what comes before knows the page.
    path("<form:form>/", view("studies.pages.addressed:form_of_page")),
]
# Address prefixes of extras, each with its module of addresses. They come after participants'
# addresses, and before patterns that match any word.
urlpatterns[1:1] = [path(start, include(module)) for start, module in addresses()]

handler400 = "annotation.participants.error_pages.bad_request"
handler403 = "annotation.participants.error_pages.permission_denied"
handler404 = "annotation.participants.error_pages.page_not_found"
handler500 = "annotation.participants.error_pages.server_error"
