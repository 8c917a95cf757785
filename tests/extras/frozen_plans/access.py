"""Who may open the pages of plans."""

FOR_VIEWERS = {"reports/deviations/", "reports/plan/"}
LEFT_OUT = {"wants a plan, or freezes one for good": "frozen_plans:"}
