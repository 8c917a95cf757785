from django.urls import path

from studies.pages.addressed import view

app_name = "check_page"
urlpatterns = [
    path("", view("extras.check_page.views:page"), name="page"),
    path("<path:name>", view("extras.check_page.views:page"), name="file"),
]
