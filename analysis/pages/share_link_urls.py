"""Addresses of shared reports, which need no account and do not name the study."""

from django.urls import path

from analysis.pages import share_link_views

app_name = "shared"
urlpatterns = [
    path("<str:link_id>/", share_link_views.shared_report, name="report"),
    path("<str:link_id>/card.png", share_link_views.shared_card, name="card"),
    path("<str:link_id>/files.zip", share_link_views.shared_files, name="files"),
    path("<str:link_id>/report.html", share_link_views.shared_file, name="file"),
]
