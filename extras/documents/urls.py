"""Addresses below /studies/<slug>/reports/<public_id>/."""

from django.urls import path

from studies.pages.addressed import view

app_name = "documents"
urlpatterns = [
    path("article/article.html", view("extras.documents.views:open_article"), name="article"),
    path("paper/paper.html", view("extras.documents.views:open_paper"), name="paper"),
    path("article.zip", view("extras.documents.views:download_article"), name="article-zip"),
    path("paper.zip", view("extras.documents.views:download_paper"), name="paper-zip"),
]
