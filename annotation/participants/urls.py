"""The participants' addresses, below /s/<slug>/."""

from django.urls import path

from annotation.participants import comprehension_views, item_views, preview, views
from studies.pages.responses import framed_here

app_name = "annotation"
urlpatterns = [
    # First, because most requests are for these and patterns are tried in order.
    path("task/<int:position>/", item_views.task, name="task-item"),
    path("task/<int:position>/draft/", item_views.draft, name="draft"),
    path("task/", item_views.task, name="task"),
    path("", views.entry, name="entry"),
    path("consent/", views.consent, name="consent"),
    path("consent/copy/", views.consent_copy, name="consent-copy"),
    path("about/", views.about, name="about"),
    path("instructions/", views.instructions, name="instructions"),
    path("quiz/", comprehension_views.quiz_start, name="quiz"),
    path("quiz/<int:number>/", comprehension_views.quiz, name="quiz-question"),
    path("practice/", comprehension_views.practice, name="practice"),
    path("task/<int:position>/skip/", item_views.skip, name="skip"),
    path("media/<str:sha256>/", item_views.media, name="media"),
    path("feedback/", views.feedback, name="feedback"),
    path("done/", views.done, name="done"),
    path("withdraw/", views.withdraw, name="withdraw"),
    path("pause/", views.pause, name="pause"),
    path("extend/", views.extend, name="extend"),
    path("help/", views.help_page, name="help"),
    path("preview/<slug:step>/", framed_here(preview.preview), name="preview"),
]
