from django.urls import path

from studies.pages.addressed import view

app_name = "people"
urlpatterns = [
    path(
        "prolific/",
        view(
            "annotation.prolific.pages.views:home",
            "places",
            "webhooks",
            **dict.fromkeys(["sync", "refill", "returns", "forget"], "act"),
            **dict.fromkeys(["CANCEL_PUBLISH", "PAUSE", "START", "STOP"], "change"),
        ),
        name="prolific",
    ),
    path(
        "prolific/accounts/",
        view(
            "annotation.prolific.pages.account_views:accounts_page",
            **dict.fromkeys(["enter", "use", "test", "secret", "remove"], "accounts_page"),
        ),
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
        "prolific/settle/",
        view(
            "annotation.prolific.pages.settle_views:settle",
            approve="approve_many",
            returns="ask_to_return",
        ),
        name="prolific-settle",
    ),
    path(
        "prolific/settle/reject/",
        view("annotation.prolific.pages.settle_views:reject_one"),
        name="prolific-reject",
    ),
    path(
        "prolific/bonuses/",
        view(
            "annotation.prolific.pages.settle_views:pay_bonuses",
            **dict.fromkeys(["pay", "set_up", "release", "cancel"], "act_on_payment"),
        ),
        name="prolific-bonuses",
    ),
    path("", view("annotation.researchers.views:people", "release"), name="list"),
    path("annotator/", view("annotation.researchers.views:person"), name="person"),
    path("items/", view("annotation.researchers.item_views:faulty_items"), name="faulty-items"),
    path(
        "checks/",
        view("annotation.researchers.text_views:checks", items="check_items"),
        name="checks",
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
    path(
        "places/", view("annotation.researchers.admission_views:places", "related"), name="places"
    ),
    path("places/quota/", view("annotation.researchers.quota_views:quota"), name="quota"),
    path(
        "places/questions/",
        view("annotation.researchers.admission_views:questions"),
        name="questions",
    ),
    path("texts/", view("annotation.researchers.text_views:texts"), name="texts"),
    path(
        "texts/preview/",
        view("annotation.researchers.text_views:text_preview"),
        name="text-preview",
    ),
]
