"""More of Prolific: every filter, its own figures and demographics, a launch tried in advance."""
