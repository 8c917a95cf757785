"""Files of media, for members of a study and for its participants."""

from django.urls import include, path

from studies.pages.addressed import view

_MEMBERS = [path("<str:sha256>/", view("extras.media.views:to_members"), name="file")]
_PARTICIPANTS = [path("<str:sha256>/", view("extras.media.views:to_participants"), name="file")]
urlpatterns = [
    path("studies/<slug:slug>/media/", include((_MEMBERS, "media"))),
    path("s/<slug:slug>/media/", include((_PARTICIPANTS, "shown_media"))),
]
