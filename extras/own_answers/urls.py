"""Pages of participants, below /s/<slug>/."""

from django.urls import path

from extras.own_answers import profile_pages, second_visit_pages

app_name = "own_answers"
urlpatterns = [
    path("profile/", profile_pages.profile, name="profile"),
    path("retest/", second_visit_pages.retest, name="retest"),
    path("retest/<int:position>/", second_visit_pages.retest_item, name="retest-item"),
]
