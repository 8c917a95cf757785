from django.urls import path

from extras.estimation import views

app_name = "estimation"
urlpatterns = [path("draw/", views.draw, name="draw")]
