"""Participants' pages, below /s/<slug>/."""

from django.urls import path

from extras.own_answers import profiles, second_visits

app_name = "own_answers"
urlpatterns = [
    path("profile/", profiles.profile, name="profile"),
    path("retest/", second_visits.retest, name="retest"),
    path("retest/<int:position>/", second_visits.retest_item, name="retest-item"),
]
