from django.urls import path

from extras.privacy import views

app_name = "privacy"
urlpatterns = [
    path("", views.find, name="find"),
    path("person/", views.request_page, name="person"),
    path("person/file/", views.person_file, name="file"),
    path("person/act/", views.act, name="act"),
    path("done/<slug:reference>/", views.done, name="done"),
]
