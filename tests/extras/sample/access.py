"""Who may open the pages of the sample: whoever is signed in, for a sample of their own."""

OTHERS = {"sample/add/", "sample/remove/"}
LEFT_OUT = {"is about no study of a team": "sample:(add|remove)"}
