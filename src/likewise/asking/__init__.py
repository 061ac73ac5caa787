"""Which pair next: answers, what they imply, scores, when to stop."""
