"""For members of a study, below /studies/<slug>/media/."""

from django.urls import path

from studies.pages.addressed import view

app_name = "media"
urlpatterns = [path("<str:sha256>/", view("extras.media.views:to_members"), name="file")]
