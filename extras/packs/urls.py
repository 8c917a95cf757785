from django.urls import path

from extras.packs import views

app_name = "packs"
urlpatterns = [
    path("pack/", views.ask_for_pack, name="write"),
    path("replies/", views.upload_replies, name="replies"),
    path("discard-pack/", views.discard_pack, name="discard"),
    path("packs/<str:job_id>/", views.pack_job, name="job"),
    path("packs/<str:job_id>/status/", views.pack_status, name="status"),
    path("packs/<str:job_id>/file/", views.download_pack, name="file"),
]
