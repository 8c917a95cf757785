"""Pages of a study: items about changed personas, and profile texts."""

from django.urls import path

from studies.pages.addressed import view

app_name = "personas"
urlpatterns = [
    path(
        "changed-personas/",
        view("extras.personas.changed_items:changed_personas"),
        name="changed-personas",
    ),
    path(
        "other-personas/",
        view("extras.personas.other_personas:other_personas"),
        name="other-personas",
    ),
    path(
        "judges/profiles/",
        view(
            "extras.personas.profile_views:profiles_page",
            decide="decide_profile",
            progress="profiles_status",
        ),
        name="profiles",
    ),
]
