"""How much a judge is like a person: kappas, mistakes in common, and one person left out."""
