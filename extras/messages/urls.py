from django.urls import path

from extras.messages import views

app_name = "messages"
urlpatterns = [
    path("", views.message_list, name="list"),
    path("write/", views.write_message, name="write"),
    path("send/", views.send_message, name="message"),
]
