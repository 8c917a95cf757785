"""Rules that explain where people and a judge differ, proposed on one half of the items."""
