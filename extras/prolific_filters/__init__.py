"""A page for the launch plan on Prolific: any filter of its list, earlier studies, groups, ids."""
