"""What is believed: the paper, what goes beyond it, fits and posteriors."""
