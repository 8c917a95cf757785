"""The participants' addresses, below /s/<slug>/."""

from django.urls import path

from studies.pages.addressed import view
from studies.pages.responses import framed_here

app_name = "annotation"
urlpatterns = [
    # First, because most requests are for these and patterns are tried in order.
    path("task/<int:position>/", view("annotation.participants.item_views:task"), name="task-item"),
    path(
        "task/<int:position>/draft/", view("annotation.participants.item_views:draft"), name="draft"
    ),
    path("task/", view("annotation.participants.item_views:task"), name="task"),
    path("", view("annotation.participants.views:entry"), name="entry"),
    path("consent/", view("annotation.participants.views:consent"), name="consent"),
    path("consent/copy/", view("annotation.participants.views:consent_copy"), name="consent-copy"),
    path("about/", view("annotation.participants.views:about"), name="about"),
    path("instructions/", view("annotation.participants.views:instructions"), name="instructions"),
    path("quiz/", view("annotation.participants.comprehension_views:quiz_start"), name="quiz"),
    path(
        "quiz/<int:number>/",
        view("annotation.participants.comprehension_views:quiz"),
        name="quiz-question",
    ),
    path(
        "practice/", view("annotation.participants.comprehension_views:practice"), name="practice"
    ),
    path("task/<int:position>/skip/", view("annotation.participants.item_views:skip"), name="skip"),
    path("feedback/", view("annotation.participants.views:feedback"), name="feedback"),
    path("done/", view("annotation.participants.views:done"), name="done"),
    path("withdraw/", view("annotation.participants.views:withdraw"), name="withdraw"),
    path("pause/", view("annotation.participants.views:pause"), name="pause"),
    path("extend/", view("annotation.participants.views:extend"), name="extend"),
    path("help/", view("annotation.participants.views:help_page"), name="help"),
    path(
        "preview/<slug:step>/",
        framed_here(view("annotation.participants.preview:preview")),
        name="preview",
    ),
]
