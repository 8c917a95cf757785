from django.urls import path

from studies.pages.addressed import view

app_name = "sample"
urlpatterns = [
    path("add/", view("extras.sample.views:add"), name="add"),
    path("remove/", view("extras.sample.views:remove"), name="remove"),
]
