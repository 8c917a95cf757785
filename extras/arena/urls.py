"""Addresses below /studies/<slug>/."""

from django.urls import path

from studies.pages.addressed import view

app_name = "arena"
urlpatterns = [
    path("arena/", view("extras.arena.pages:arena_page", state="set_live"), name="arena"),
    path("arena/settings/", view("extras.arena.pages:arena_settings"), name="settings"),
    path("arena/questions/", view("extras.arena.pages:questions"), name="questions"),
]
