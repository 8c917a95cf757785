"""How often answers are right, and what sways them."""
