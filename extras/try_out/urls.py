"""The finished study, and the page that checks a table."""

from django.urls import include, path

from studies.pages.addressed import view

_SAMPLE = [path("", view("extras.try_out.sample.views:add", "remove"), name="sample")]
_CHECK = [
    path("", view("extras.try_out.check_page.views:page"), name="page"),
    path("<path:name>", view("extras.try_out.check_page.views:page"), name="file"),
]
urlpatterns = [
    path("sample/", include((_SAMPLE, "sample"))),
    path("check/", include((_CHECK, "check_page"))),
]
