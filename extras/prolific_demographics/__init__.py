"""Participants' demographics from Prolific, next to the quota groups. They decide nothing."""
