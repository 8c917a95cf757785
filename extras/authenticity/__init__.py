"""Results of Prolific's own authenticity checks, from its export, shown as advice."""
