"""Who may open the pages: the sample whoever is signed in, the check everybody."""

OPEN = {"check/"}
OTHERS = {"sample/", "sample/ remove"}
LEFT_OUT = {"is about no study of a team": "sample:"}
