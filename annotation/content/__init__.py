"""What annotators read: texts, wording, comprehension questions, practice."""
