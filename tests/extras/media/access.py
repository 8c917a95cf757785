"""Who may open which address of this extra."""

FOR_VIEWERS = {"media/<sha256>/"}
# A study has no such file.
NOT_HERE = {"media/<sha256>/"}
