"""Who may open the pages of the sample: it has none below a study."""
