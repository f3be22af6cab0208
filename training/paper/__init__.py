"""The paper's tables again: its data sets, its settings, its printed figures, and ours beside them."""
