from django.urls import path

from studies.pages.addressed import view

app_name = "activity"
urlpatterns = [path("", view("extras.administration.activity:activity"), name="log")]
