from django.urls import path

from studies.pages.addressed import view

app_name = "people"
urlpatterns = [
    path("prolific/", view("annotation.prolific.pages.views:home"), name="prolific"),
    path(
        "prolific/accounts/",
        view("annotation.prolific.pages.account_views:accounts_page"),
        name="prolific-accounts",
    ),
    path("prolific/plan/", view("annotation.prolific.pages.plan_views:plan"), name="prolific-plan"),
    path(
        "prolific/launch/",
        view("annotation.prolific.pages.views:check_and_launch"),
        name="prolific-launch",
    ),
    path(
        "prolific/publish/",
        view("annotation.prolific.pages.views:publish"),
        name="prolific-publish",
    ),
    path(
        "prolific/change/", view("annotation.prolific.pages.views:change"), name="prolific-change"
    ),
    path(
        "prolific/places/", view("annotation.prolific.pages.views:places"), name="prolific-places"
    ),
    path(
        "prolific/webhooks/",
        view("annotation.prolific.pages.views:webhooks"),
        name="prolific-webhooks",
    ),
    path("prolific/act/", view("annotation.prolific.pages.views:act"), name="prolific-act"),
    path(
        "prolific/settle/",
        view("annotation.prolific.pages.settle_views:settle"),
        name="prolific-settle",
    ),
    path(
        "prolific/settle/approve/",
        view("annotation.prolific.pages.settle_views:approve_many"),
        name="prolific-approve",
    ),
    path(
        "prolific/settle/returns/",
        view("annotation.prolific.pages.settle_views:ask_to_return"),
        name="prolific-returns",
    ),
    path(
        "prolific/settle/reject/",
        view("annotation.prolific.pages.settle_views:reject_one"),
        name="prolific-reject",
    ),
    path(
        "prolific/bonuses/",
        view("annotation.prolific.pages.settle_views:pay_bonuses"),
        name="prolific-bonuses",
    ),
    path(
        "prolific/bonuses/act/",
        view("annotation.prolific.pages.settle_views:act_on_payment"),
        name="prolific-payment",
    ),
    path("", view("annotation.researchers.views:people"), name="list"),
    path("release/", view("annotation.researchers.views:release"), name="release"),
    path("annotator/", view("annotation.researchers.views:person"), name="person"),
    path("items/", view("annotation.researchers.item_views:faulty_items"), name="faulty-items"),
    path("checks/", view("annotation.researchers.text_views:checks"), name="checks"),
    path(
        "checks/items/", view("annotation.researchers.text_views:check_items"), name="check-items"
    ),
    path("codes/", view("annotation.researchers.views:codes"), name="codes"),
    path("preview/", view("annotation.participants.preview:frames"), name="preview"),
    path(
        "preview/<slug:step>/", view("annotation.participants.preview:frames"), name="preview-step"
    ),
    path(
        "invitations/",
        view("annotation.researchers.admission_views:invitations"),
        name="invitations",
    ),
    path("places/", view("annotation.researchers.admission_views:places"), name="places"),
    path("places/quota/", view("annotation.researchers.quota_views:quota"), name="quota"),
    path(
        "places/questions/",
        view("annotation.researchers.admission_views:questions"),
        name="questions",
    ),
    path("places/related/", view("annotation.researchers.admission_views:related"), name="related"),
    path("texts/", view("annotation.researchers.text_views:texts"), name="texts"),
    path(
        "texts/preview/",
        view("annotation.researchers.text_views:text_preview"),
        name="text-preview",
    ),
]
