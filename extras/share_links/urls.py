"""Addresses for owners, and those of links, which need no account and do not name the study."""

from django.urls import include, path

from extras.share_links import views

_OWNERS = [
    path("", views.links, name="links"),
    path("<str:link_id>/end/", views.revoke, name="revoke"),
    path("<str:link_id>/names/", views.reveal, name="reveal"),
    path("<str:link_id>/files/", views.write, name="write-files"),
]
_SHARED = [
    path("<str:link_id>/", views.shared_report, name="report"),
    path("<str:link_id>/card.png", views.shared_card, name="card"),
    path("<str:link_id>/files.zip", views.shared_files, name="files"),
    path("<str:link_id>/report.html", views.shared_file, name="file"),
]
urlpatterns = [
    path("studies/<slug:slug>/reports/<str:public_id>/share/", include((_OWNERS, "share_links"))),
    path("shared/", include((_SHARED, "shared"))),
]
