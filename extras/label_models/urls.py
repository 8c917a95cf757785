"""Researchers' pages of adjudication, below /studies/<slug>/adjudication/."""

from django.urls import path

from studies.pages.addressed import view

app_name = "adjudication"
urlpatterns = [
    path("", view("extras.label_models.pages:adjudication"), name="adjudication"),
    path("rule/", view("extras.label_models.pages:save_rule"), name="rule"),
    path("send/", view("extras.label_models.pages:send"), name="send"),
    path("close/", view("extras.label_models.pages:close"), name="close"),
    path("experts/", view("extras.label_models.pages:add"), name="add"),
    path("experts/<str:expert_id>/end/", view("extras.label_models.pages:end"), name="end"),
]
