"""Who may open the documents about a report: who may see it; here none has files."""

FOR_VIEWERS = NOT_HERE = {
    "reports/<public_id>/article.zip",
    "reports/<public_id>/article/article.html",
    "reports/<public_id>/paper.zip",
    "reports/<public_id>/paper/paper.html",
}
