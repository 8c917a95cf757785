"""For participants, below /s/<slug>/media/."""

from django.urls import path

from studies.pages.addressed import view

app_name = "shown_media"
urlpatterns = [path("<str:sha256>/", view("extras.media.views:to_participants"), name="file")]
