"""Label items by models of annotators (Dawid-Skene, one coin, MACE, GLAD) and other rules."""
