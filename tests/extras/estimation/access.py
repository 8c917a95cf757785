"""Who may open the page on which a judge draws items: those who may edit the study."""

NEEDS_DATA = "estimation:draw"
