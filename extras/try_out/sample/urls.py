from django.urls import path

from studies.pages.addressed import view

app_name = "sample"
urlpatterns = [
    path("add/", view("extras.try_out.sample.views:add"), name="add"),
    path("remove/", view("extras.try_out.sample.views:remove"), name="remove"),
]
