from django.urls import path

from studies.pages.addressed import view

app_name = "sample"
urlpatterns = [path("", view("extras.try_out.sample.views:add", "remove"), name="sample")]
