from django.urls import path

from annotation.participants import preview
from annotation.prolific.pages import account_views, plan_views
from annotation.prolific.pages import settle_views as settling
from annotation.prolific.pages import views as prolific
from annotation.researchers import (
    admission_views,
    item_views,
    quota_views,
    text_views,
    views,
)

app_name = "people"
urlpatterns = [
    path("prolific/", prolific.home, name="prolific"),
    path("prolific/accounts/", account_views.accounts_page, name="prolific-accounts"),
    path("prolific/plan/", plan_views.plan, name="prolific-plan"),
    path("prolific/launch/", prolific.check_and_launch, name="prolific-launch"),
    path("prolific/publish/", prolific.publish, name="prolific-publish"),
    path("prolific/change/", prolific.change, name="prolific-change"),
    path("prolific/places/", prolific.places, name="prolific-places"),
    path("prolific/webhooks/", prolific.webhooks, name="prolific-webhooks"),
    path("prolific/act/", prolific.act, name="prolific-act"),
    path("prolific/settle/", settling.settle, name="prolific-settle"),
    path("prolific/settle/approve/", settling.approve_many, name="prolific-approve"),
    path("prolific/settle/returns/", settling.ask_to_return, name="prolific-returns"),
    path("prolific/settle/reject/", settling.reject_one, name="prolific-reject"),
    path("prolific/bonuses/", settling.pay_bonuses, name="prolific-bonuses"),
    path("prolific/bonuses/act/", settling.act_on_payment, name="prolific-payment"),
    path("", views.people, name="list"),
    path("release/", views.release, name="release"),
    path("annotator/", views.person, name="person"),
    path("items/", item_views.faulty_items, name="faulty-items"),
    path("checks/", text_views.checks, name="checks"),
    path("checks/items/", text_views.check_items, name="check-items"),
    path("codes/", views.codes, name="codes"),
    path("preview/", preview.frames, name="preview"),
    path("preview/<slug:step>/", preview.frames, name="preview-step"),
    path("invitations/", admission_views.invitations, name="invitations"),
    path("places/", admission_views.places, name="places"),
    path("places/quota/", quota_views.quota, name="quota"),
    path("places/questions/", admission_views.questions, name="questions"),
    path("places/related/", admission_views.related, name="related"),
    path("texts/", text_views.texts, name="texts"),
    path("texts/preview/", text_views.text_preview, name="text-preview"),
]
