from django.urls import path

from studies.pages.addressed import view

app_name = "packs"
urlpatterns = [
    path("pack/", view("extras.packs.views:ask_for_pack"), name="write"),
    path("replies/", view("extras.packs.views:upload_replies"), name="replies"),
    path("discard-pack/", view("extras.packs.views:discard_pack"), name="discard"),
    path(
        "packs/<str:job_id>/",
        view("extras.packs.views:pack_job", progress="pack_status"),
        name="job",
    ),
    path("packs/<str:job_id>/file/", view("extras.packs.views:download_pack"), name="file"),
]
