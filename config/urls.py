"""Every address of the site."""

from django.contrib import admin
from django.contrib.auth import views as auth
from django.urls import include, path
from django.views.generic import RedirectView

from analysis.pages import disagreement_views
from annotation.prolific.pages.views import webhook
from api.gateway import gateway
from config.health import healthz
from studies.extra import addresses
from studies.pages import urls as study_urls
from studies.pages.accounts import credential_views
from studies.pages.accounts import views as account_views

# The page of an item shows what all apps know about it, so it cannot be in `studies`.
_STUDIES = [
    *study_urls.urlpatterns,
    path("<slug:slug>/items/<str:key>/", disagreement_views.item, name="item"),
    path("<slug:slug>/items/<str:key>/note/", disagreement_views.save_note, name="item-note"),
]

urlpatterns = [
    # First, because most requests are for these and patterns are tried in order.
    path("s/<slug:slug>/", include("annotation.participants.urls")),
    path("", RedirectView.as_view(pattern_name="studies:list"), name="home"),
    path("healthz", healthz, name="healthz"),
    path("accounts/login/", account_views.SignInView.as_view(), name="login"),
    path("accounts/first/", account_views.make_first_account, name="first-account"),
    path("accounts/logout/", auth.LogoutView.as_view(), name="logout"),
    path("accounts/tokens/", credential_views.tokens, name="tokens"),
    path("accounts/tokens/delete/", credential_views.delete_token, name="token-delete"),
    path("accounts/end-all/", credential_views.end_everything, name="end-all"),
    path("invitation/", account_views.invitation, name="invitation"),
    path("accounts/second-step/", credential_views.second_step, name="second-step"),
    path("accounts/second-step/off/", credential_views.switch_off, name="second-step-off"),
    path("accounts/password/", account_views.change_password, name="password_change"),
    path("accounts/password/reset/", account_views.reset_password, name="password_reset"),
    path(
        "accounts/password/new/<uidb64>/<token>/",
        account_views.NewPassword.as_view(),
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
    path("prolific/webhook/", webhook, name="prolific-webhook"),
    path("api/v1/<path:route>", gateway, name="api"),
]
# Address prefixes of extras, each with its module of addresses. They come after participants'
# addresses, and before patterns that match any word.
urlpatterns[1:1] = [path(start, include(module)) for start, module in addresses()]

handler400 = "annotation.participants.error_pages.bad_request"
handler403 = "annotation.participants.error_pages.permission_denied"
handler404 = "annotation.participants.error_pages.page_not_found"
handler500 = "annotation.participants.error_pages.server_error"
