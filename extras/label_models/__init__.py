"""Models of annotators that label items: Dawid and Skene, one coin, MACE, GLAD, and other rules."""
