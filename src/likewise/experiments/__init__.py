"""The paper's evaluation, and the demonstration."""
