"""What a learned metric is good for: groups of items."""
