"""Addresses below /studies/<slug>/reports/<public_id>/."""

from django.urls import path

from extras.documents import views

app_name = "documents"
urlpatterns = [
    path("article/article.html", views.open_article, name="article"),
    path("paper/paper.html", views.open_paper, name="paper"),
    path("article.zip", views.download_article, name="article-zip"),
    path("paper.zip", views.download_paper, name="paper-zip"),
]
