from django.urls import path

from studies.pages.addressed import view

app_name = "privacy"
urlpatterns = [
    path("", view("extras.privacy.views:find"), name="find"),
    path("person/", view("extras.privacy.views:request_page"), name="person"),
    path("person/file/", view("extras.privacy.views:person_file"), name="file"),
    path("done/<slug:reference>/", view("extras.privacy.views:done"), name="done"),
]
