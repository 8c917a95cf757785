"""Participants' pages, below /s/<slug>/."""

from django.urls import path

from studies.pages.addressed import view

app_name = "own_answers"
urlpatterns = [
    path("profile/", view("extras.own_answers.profiles:profile"), name="profile"),
    path("retest/", view("extras.own_answers.second_visits:retest"), name="retest"),
    path(
        "retest/<int:position>/",
        view("extras.own_answers.second_visits:retest_item"),
        name="retest-item",
    ),
]
