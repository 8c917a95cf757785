"""Links of panels, below /s/<slug>/."""

from django.urls import path

from studies.pages.addressed import view

app_name = "panel_entry"
urlpatterns = [
    path("from/<slug:panel_name>/", view("extras.panels.participant_views:entry"), name="entry"),
]
