from django.urls import path

from studies.pages.addressed import view

app_name = "check_page"
urlpatterns = [
    path("", view("extras.try_out.check_page.views:page"), name="page"),
    path("<path:name>", view("extras.try_out.check_page.views:page"), name="file"),
]
