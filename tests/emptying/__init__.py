"""An app of the tests alone: how the tables are emptied after a test that committed."""
