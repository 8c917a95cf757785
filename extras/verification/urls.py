from django.urls import path

from studies.pages.addressed import view

app_name = "verification"
urlpatterns = [
    path("", view("extras.verification.views:verify"), name="verify"),
    path("status/", view("extras.verification.views:status"), name="status"),
]
