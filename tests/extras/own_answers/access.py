"""Who may open which address of this extra."""

# Nobody finds these in a study whose people answer for somebody else.
NOT_HERE = {
    "people/linked/",
    "people/waves/ invite",
    "people/waves/ leave",
    "people/second-visits/",
    "people/second-visits/ ids",
    *(
        f"people/second-visits/ {action}"
        for action in ("draft", "publish", "start", "stop", "discard", "invite")
    ),
}
# Editors need the right to create studies.
MAY_CREATE = {"people/waves/"}
# They need people who answer for themselves.
NEEDS_DATA = "own_answers:(profile|retest-item)|own_people:(linked|waves |second-visits )"
