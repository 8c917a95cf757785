from django.urls import path

from extras.sample import views

app_name = "sample"
urlpatterns = [
    path("add/", views.add, name="add"),
    path("remove/", views.remove, name="remove"),
]
