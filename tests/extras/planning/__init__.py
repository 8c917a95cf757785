"""Tests of planning, and what the tests of all pages need to know of its pages."""

FOR_VIEWERS = {"planning/", "planning/status/", "planning/watched/"}
# A forecast changes nothing of a study, and a watched comparison needs a run without answers.
NOT_IN_PAIRS = {"planning:forecast", "planning:watched"}
