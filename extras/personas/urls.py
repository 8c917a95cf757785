"""Pages of a study: items about changed personas, and profile texts."""

from django.urls import path

from extras.personas import changed_items, other_personas, profile_views

app_name = "personas"
urlpatterns = [
    path("changed-personas/", changed_items.changed_personas, name="changed-personas"),
    path("other-personas/", other_personas.other_personas, name="other-personas"),
    path("judges/profiles/", profile_views.profiles_page, name="profiles"),
    path("judges/profiles/status/", profile_views.profiles_status, name="profiles-status"),
    path("judges/profiles/<str:draft_id>/", profile_views.decide_profile, name="decide-profile"),
]
