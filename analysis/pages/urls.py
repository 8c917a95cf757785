from django.urls import path

from analysis.pages import deviation_views, files, share_link_views, view_views, views
from analysis.pages.items import audit_views

app_name = "analysis"
urlpatterns = [
    path("", views.list_reports, name="list"),
    path("panel/", views.panel, name="panel"),
    path("build/", views.build, name="build"),
    path("plan/", views.plan, name="plan"),
    path("draw/", audit_views.draw, name="draw"),
    path("compare/", views.compare, name="compare"),
    path("deviations/", deviation_views.deviations, name="deviations"),
    path("view/", view_views.another_view, name="view"),
    path("<str:public_id>/", views.show_report, name="report"),
    path("<str:public_id>/status/", views.status, name="status"),
    path("<str:public_id>/verify/", views.verify, name="verify"),
    path("<str:public_id>/report.html", files.open_report, name="open"),
    path("<str:public_id>/article/article.html", files.open_article, name="article"),
    path("<str:public_id>/paper/paper.html", files.open_paper, name="paper"),
    path("<str:public_id>/pages/<slug:name>.html", files.open_own_page, name="own-page"),
    path("<str:public_id>/card.svg", files.card, {"kind": "svg"}, name="card"),
    path("<str:public_id>/card.png", files.card, {"kind": "png"}, name="card-png"),
    path("<str:public_id>/article.zip", files.download_article, name="article-zip"),
    path("<str:public_id>/paper.zip", files.download_paper, name="paper-zip"),
    path("<str:public_id>/download/", files.download_html, name="download"),
    path("<str:public_id>/report.json", files.download_json, name="json"),
    path("<str:public_id>/tables.zip", files.download_tables, name="tables"),
    path("<str:public_id>/tables/<slug:name>.csv", files.download_table, name="table"),
    path("<str:public_id>/items.json", files.item_rows, name="item_rows"),
    path("<str:public_id>/share/", share_link_views.share, name="share"),
    path("<str:public_id>/share/<str:link_id>/end/", share_link_views.revoke, name="revoke"),
    path("<str:public_id>/share/<str:link_id>/names/", share_link_views.reveal, name="reveal"),
    path("<str:public_id>/share/<str:link_id>/files/", share_link_views.write, name="write-files"),
]
